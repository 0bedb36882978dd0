//! The program. Everything is in the library, so that the fuzzer can call its parsers.

use std::process::ExitCode;

/// Chosen because responses need many small allocations, on several threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    gatehouse::run()
}
