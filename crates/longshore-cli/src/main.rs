//! The `longshore` executable.
fn main() {}
