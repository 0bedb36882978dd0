//! Takes the files that the page `/-/docs` needs out of the packaged Swagger UI.

use std::io::{Cursor, Read};
use std::path::Path;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;

/// Files of the archive, without the directory that is named for its version.
const FILES: [&str; 5] = [
    "dist/swagger-ui-bundle.js",
    "dist/swagger-ui.css",
    "dist/favicon-32x32.png",
    "LICENSE",
    "NOTICE",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").expect("cargo says where to");
    let mut archive = zip::ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))
        .expect("the package holds an archive");
    for file in FILES {
        let is_it = |name: &String| name.split_once('/').is_some_and(|(_, rest)| rest == file);
        let name = archive.file_names().flatten().map(String::from).find(is_it);
        let name = name.unwrap_or_else(|| panic!("Swagger UI has no file {file} any more"));
        let mut bytes = Vec::new();
        archive
            .by_name(&name)
            .and_then(|mut entry| Ok(entry.read_to_end(&mut bytes)?))
            .unwrap_or_else(|cause| panic!("{name} can't be unpacked: {cause}"));
        let to = Path::new(&out).join(file.rsplit('/').next().unwrap_or(file));
        std::fs::write(&to, bytes)
            .unwrap_or_else(|cause| panic!("{} can't be written: {cause}", to.display()));
    }
}
