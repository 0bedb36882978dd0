//! Slow flushes: a small library that is loaded before the system's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// Variable that makes a program load the library.
pub(crate) const LOADED_BY: &str = "LD_PRELOAD";

/// Adds a millisecond to each flush.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_a_millisecond(void) {
    struct timespec left = {0, 1000000};
    while (nanosleep(&left, &left) != 0) {}
}

int fsync(int file) {
    static int (*flush)(int);
    if (!flush) flush = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    wait_a_millisecond();
    return flush(file);
}

int fdatasync(int file) {
    static int (*flush)(int);
    if (!flush) flush = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    wait_a_millisecond();
    return flush(file);
}
"#;

/// Builds the library with the compiler that also builds SQLite.
pub(crate) fn build(directory: &Path) -> Result<PathBuf, Failure> {
    let (source, library) = (directory.join("slow_flush.c"), directory.join("slow_flush.so"));
    std::fs::write(&source, SOURCE).map_err(|cause| Failure::of_path(&source, &cause))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).arg("-ldl");
    match compiler.status() {
        Ok(status) if status.success() => Ok(library),
        Ok(status) => Err(Failure::Step(format!("cc can't build {}: {status}", source.display()))),
        Err(cause) => Err(Failure::Step(format!("cc can't be run: {cause}"))),
    }
}
