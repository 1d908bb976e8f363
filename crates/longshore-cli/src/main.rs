//! The `longshore` executable: the command line, with the built-in kinds.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    longshore_cli::run(longshore_cli::App::built_in())
}
