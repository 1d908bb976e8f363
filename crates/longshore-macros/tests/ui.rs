//! What the compiler says about jobs and handlers that are wrong, word by word.
//!
//! Each `ui/*.rs` must fail to compile with just the text of its `.stderr`. After a change that is meant:
//! `TRYBUILD=overwrite cargo test -p longshore-macros --test ui`, and read what has changed.

#[test]
fn wrong_code_is_told_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
