//! Embeds the files of the web pages into the crate: `/-/docs` (the packaged Swagger UI and a few files of our own) and
//! `/-/console/` (all of `console/`).
//!
//! Text files are also stored gzipped, so that the server compresses nothing per request.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;

/// Files of Swagger UI's archive, without its versioned directory.
const SWAGGER_UI: [&str; 5] = [
    "dist/swagger-ui-bundle.js",
    "dist/swagger-ui.css",
    "dist/favicon-32x32.png",
    "LICENSE",
    "NOTICE",
];

/// Our own files of `/-/docs`.
const DOCS: [&str; 3] = ["page.html", "page.js", "page.css"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut assets = AssetTable { out: &out, table: String::new(), n_files: 0 };
    assets.list("DOCS", &docs(&here.join("src/http/pages/docs")));
    assets.list("CONSOLE", &console(&here.join("../../console")));
    write(&out.join("assets.rs"), assets.table.as_bytes());
}

/// A file, and its name in the page's URLs.
struct File {
    name: String,
    bytes: Vec<u8>,
}

/// Files of the API documentation page.
fn docs(dir: &Path) -> Vec<File> {
    let own = DOCS.map(|name| File { name: name.to_owned(), bytes: read(&dir.join(name)) });
    let mut archive = zip::ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))
        .expect("the package is a ZIP archive");
    let unpacked = SWAGGER_UI.map(|file| {
        let is_wanted = |name: &String| name.split_once('/').is_some_and(|(_, rest)| rest == file);
        let name = archive.file_names().flatten().map(String::from).find(is_wanted);
        let name = name.unwrap_or_else(|| panic!("Swagger UI has no file {file} any more"));
        let mut bytes = Vec::new();
        archive
            .by_name(&name)
            .and_then(|mut entry| Ok(entry.read_to_end(&mut bytes)?))
            .unwrap_or_else(|cause| panic!("{name} can't be unpacked: {cause}"));
        File { name: file.rsplit('/').next().unwrap_or(file).to_owned(), bytes }
    });
    own.into_iter().chain(unpacked).collect()
}

/// Files of the console.
fn console(dir: &Path) -> Vec<File> {
    let mut files = Vec::new();
    collect(dir, "", &mut files);
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let has_page = files.iter().any(|file| file.name == "index.html");
    assert!(has_page, "{} has no index.html: the console begins there", dir.display());
    files
}

fn collect(dir: &Path, prefix: &str, files: &mut Vec<File>) {
    println!("cargo::rerun-if-changed={}", dir.display());
    let entries = fs::read_dir(dir)
        .unwrap_or_else(|cause| panic!("{} can't be read: {cause}", dir.display()));
    for entry in entries {
        let path = entry.expect("a directory can be read").path();
        let name = path.file_name().and_then(|it| it.to_str()).expect("files have plain names");
        // Hidden files belong to editors and the operating system.
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.push(File { bytes: read(&path), name });
        }
    }
}

/// The media type of a file, and whether to compress it.
fn media_type(name: &str) -> (&'static str, bool) {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => ("text/html; charset=utf-8", true),
        Some("js") => ("text/javascript; charset=utf-8", true),
        Some("css") => ("text/css; charset=utf-8", true),
        Some("svg") => ("image/svg+xml", true),
        Some("json") => ("application/json", true),
        Some("webmanifest") => ("application/manifest+json", true),
        Some("txt") => ("text/plain; charset=utf-8", true),
        Some("png") => ("image/png", false),
        Some("woff2") => ("font/woff2", false),
        None if name == "LICENSE" || name == "NOTICE" => ("text/plain; charset=utf-8", true),
        _ => panic!(
            "{name} has no known media type: remove it from the page's directory, or give its \
             extension a media type in build.rs"
        ),
    }
}

/// The generated Rust table of assets, and the directory of the files that it includes.
struct AssetTable<'o> {
    out: &'o Path,
    table: String,
    n_files: usize,
}

impl AssetTable<'_> {
    fn list(&mut self, name: &str, files: &[File]) {
        self.line(&format!("pub(super) const {name}: &[Asset] = &["));
        for File { name, bytes } in files {
            let (media_type, is_text) = media_type(name);
            let plain = self.encoding(bytes);
            let gzip = is_text.then(|| format!("Some({})", self.encoding(&compressed(bytes))));
            let gzip = gzip.unwrap_or_else(|| "None".to_owned());
            self.line(&format!(
                "    Asset {{ name: {name:?}, media_type: {media_type:?}, plain: {plain}, gzip: {gzip} }},"
            ));
        }
        self.line("];");
    }

    /// Writes one encoding of a file and returns the table's expression for it.
    fn encoding(&mut self, bytes: &[u8]) -> String {
        let path = self.out.join(format!("asset-{}", self.n_files));
        self.n_files += 1;
        write(&path, bytes);
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!(
            "Representation {{ bytes: include_bytes!({path:?}), digest: {:#018x} }}",
            hasher.finish()
        )
    }

    fn line(&mut self, line: &str) {
        writeln!(self.table, "{line}").expect("writing to a string doesn't fail");
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("writing to memory doesn't fail");
    encoder.finish().expect("writing to memory doesn't fail")
}

fn read(path: &Path) -> Vec<u8> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).unwrap_or_else(|cause| panic!("{} can't be read: {cause}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes)
        .unwrap_or_else(|cause| panic!("{} can't be written: {cause}", path.display()));
}
