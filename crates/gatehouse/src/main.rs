//! The program. All of it is in the library, where the fuzzer reaches its readers of text, too.

use std::process::ExitCode;

/// Answers are made of many small pieces, on several threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    gatehouse::run()
}
