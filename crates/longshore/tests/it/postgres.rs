//! The conformance suite on PostgreSQL, directly and through a pooler, and what only PostgreSQL does.

mod direct {
    conformance!(Postgres);
}

mod pooled {
    conformance!(Pooled);
}

#[test]
fn postgresql_is_tested_or_said_to_be_left_out() {
    crate::harness::postgres::left_out();
}
