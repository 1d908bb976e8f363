//! The one integration-test binary: both stores, held to the same words.

mod harness;
#[macro_use]
mod conformance;

#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
