//! What the tests need from npm and PyPI: exact versions, each in a directory of its own below `target`, got once and again
//! when the versions change. Spectral and schemathesis test the API, an issuer gives out tokens, and playwright drives a
//! browser, which is the distribution's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::Failure;
use crate::packages::{self, is_in_path, read_output, search_directories};

/// The programs.
#[derive(Debug)]
pub(crate) struct ApiTools {
    /// Lints an OpenAPI document.
    pub(crate) spectral: PathBuf,
    /// Makes requests from it.
    pub(crate) schemathesis: PathBuf,
}

impl ApiTools {
    /// Finds what was installed before, or installs it.
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        let spectral = place("spectral");
        let settings = settings_directory();
        install_once(&spectral, &settings.join("package-lock.json"), |directory| {
            install_from_npm(&settings, directory)
        })?;
        let schemathesis = place("schemathesis");
        let list = settings.join("requirements.txt");
        install_once(&schemathesis, &list, install_schemathesis)?;
        Ok(Self {
            spectral: spectral.join("node_modules/.bin/spectral"),
            schemathesis: schemathesis.join("bin/schemathesis"),
        })
    }
}

/// What the console is tested and linted with.
#[derive(Debug)]
pub(crate) struct ConsoleTools {
    directory: PathBuf,
}

impl ConsoleTools {
    /// Finds what was installed before, or installs it, and puts the tests of today beside it.
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        let source = cargo::workspace_root().join("tests/console");
        let tools = Self { directory: place("console") };
        install_once(&tools.directory, &source.join("package-lock.json"), |directory| {
            install_from_npm(&source, directory)
        })?;
        // In a directory of their own, where none is left that is no longer among them.
        let tests = tools.tests_directory();
        cargo::make_anew(&tests).map_err(|cause| trouble(&tests, cause))?;
        for file in list(&source)? {
            if file.ends_with(".js") || file.starts_with("tsconfig") {
                copy(&file, &source, &tests)?;
            }
        }
        Ok(tools)
    }

    /// One of the programs that npm has installed.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join("node_modules/.bin").join(name)
    }

    /// Where the tests are copied to, so that they find their packages.
    pub(crate) fn tests_directory(&self) -> PathBuf {
        self.directory.join("tests")
    }

    /// The files that have tests in them.
    pub(crate) fn tests(&self) -> Result<Vec<PathBuf>, Failure> {
        let directory = self.tests_directory();
        let files = list(&directory)?.into_iter().filter(|file| file.ends_with(".test.js"));
        Ok(files.map(|file| directory.join(file)).collect())
    }
}

/// The browser that drives the console: the one that CHROMIUM names, or the distribution's.
pub(crate) fn find_or_install_chromium() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(named.into());
    }
    let find = || {
        let mut places = search_directories().into_iter().map(|it| it.join("chromium"));
        places.find(|it| it.is_file())
    };
    if find().is_none() {
        let by_hand = "install Chromium, and put it into PATH or its path into CHROMIUM";
        // A fresh machine has no font either.
        packages::install("Chromium", &["chromium", "fonts-dejavu-core"], by_hand)?;
    }
    find().ok_or_else(|| Failure::Trouble("Chromium is not where it was installed".into()))
}

/// The test issuer's script, with its packages beside it.
pub(crate) fn find_or_install_issuer() -> Result<PathBuf, Failure> {
    let (source, directory) = (cargo::workspace_root().join("tests/oidc"), place("issuer"));
    install_once(&directory, &source.join("package-lock.json"), |directory| {
        install_from_npm(&source, directory)
    })?;
    copy("issuer.js", &source, &directory)?;
    Ok(directory.join("issuer.js"))
}

/// Sees to it that curl is there: the README's tour is run as it stands.
pub(crate) fn find_or_install_curl() -> Result<(), Failure> {
    if is_in_path("curl") {
        return Ok(());
    }
    packages::install("curl", &["curl"], "install curl, and put it into PATH")
}

/// The rules, the settings and the estate of these tests.
pub(crate) fn settings_directory() -> PathBuf {
    cargo::workspace_root().join("tests/api")
}

fn place(tool: &str) -> PathBuf {
    cargo::target_directory().join("tools").join(tool)
}

/// Calls `install` with an empty directory unless it was filled by the same list of versions. The list is copied there
/// last, so what was interrupted is begun again.
fn install_once(
    directory: &Path,
    list: &Path,
    install: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let trouble = |cause| trouble(directory, cause);
    let wanted = fs::read(list).map_err(trouble)?;
    let stamp = directory.join("installed");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(trouble)?;
    }
    fs::create_dir_all(directory).map_err(trouble)?;
    install(directory)?;
    fs::write(stamp, wanted).map_err(trouble)
}

/// Installs what a directory's lock lists.
fn install_from_npm(source: &Path, directory: &Path) -> Result<(), Failure> {
    if !is_in_path("node") || !is_in_path("npm") {
        let by_hand = "install Node.js 20 or later with npm, and put both into PATH";
        packages::install("Node.js", &["nodejs", "npm"], by_hand)?;
    }
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        copy(file, source, directory)?;
    }
    run(Command::new("npm").args(["ci", "--no-progress"]).current_dir(directory), "npm ci")
}

/// The names of a directory's files, in their order.
fn list(directory: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|cause| trouble(directory, cause))?;
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn trouble(directory: &Path, cause: io::Error) -> Failure {
    Failure::Trouble(format!("{}: {cause}", directory.display()))
}

fn copy(file: &str, source: &Path, directory: &Path) -> Result<(), Failure> {
    let copied = fs::copy(source.join(file), directory.join(file));
    copied.map_err(|cause| Failure::Trouble(format!("{file} can't be copied: {cause}")))?;
    Ok(())
}

fn install_schemathesis(directory: &Path) -> Result<(), Failure> {
    // Debian has what makes these directories in a package of its own.
    let has_venv =
        || read_output(Command::new("python3").args(["-c", "import venv, ensurepip"])).is_some();
    if !has_venv() {
        let by_hand = "install Python 3.10 or later with its module venv";
        packages::install("Python", &["python3", "python3-venv"], by_hand)?;
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(directory), "python3 -m venv")?;
    let list = settings_directory().join("requirements.txt");
    let quiet = ["install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(directory.join("bin/pip")).args(quiet).arg(list), "pip install")
}

/// Runs a command whose output goes straight through, but not among what a chore itself prints.
fn run(command: &mut Command, name: &str) -> Result<(), Failure> {
    eprintln!("xtask: {name}");
    let status = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|cause| Failure::Trouble(format!("cannot run {name}: {cause}")))?;
    if status.success() { Ok(()) } else { Err(Failure::Program { name: name.to_owned(), status }) }
}
