//! Embeds every manifest and recording in `connectors/` into the crate, whatever the file's name.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where we are"));
    let connectors = here.join("../../connectors");
    let mut list = String::new();
    write_list(&mut list, "MANIFESTS", &connectors, "yaml");
    write_list(&mut list, "RECORDINGS", &connectors.join("recordings"), "json");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("shipped.rs"), list).expect("what cargo gives can be written to");
}

/// Writes a constant with the name and text of every file in `dir` that has the extension.
fn write_list(list: &mut String, name: &str, dir: &Path, extension: &str) {
    println!("cargo:rerun-if-changed={}", dir.display());
    let entries = fs::read_dir(dir).expect("the connectors are part of the project");
    let files = entries.map(|entry| entry.expect("a directory can be read").path());
    let mut files: Vec<PathBuf> =
        files.filter(|it| it.extension().is_some_and(|it| it == extension)).collect();
    files.sort();
    writeln!(list, "const {name}: &[(&str, &str)] = &[").expect("texts take what is written");
    for file in files {
        let name = file.file_name().and_then(|it| it.to_str()).expect("files have plain names");
        println!("cargo:rerun-if-changed={}", file.display());
        writeln!(list, "    ({name:?}, include_str!({file:?})),")
            .expect("texts take what is written");
    }
    list.push_str("];\n");
}
