//! Transactions of drivers that Longshore does not depend on. Here are only tests: `tests/it` runs each driver
//! against a server, and the guide's page is compiled with the examples in the docs.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/transactions.md")]
struct Transactions;
