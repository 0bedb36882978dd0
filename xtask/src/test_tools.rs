//! Tools that the tests take from npm and PyPI: exact versions, each tool in a directory of its own below `target`,
//! installed once and again when the versions change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::Failure;
use crate::program;

/// Tools that test the API by its OpenAPI document. Needs npm and Python.
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
        let spectral = tool_directory("spectral");
        let settings = settings_directory();
        install_once(&spectral, &settings.join("package-lock.json"), |directory| {
            install_from_npm(&settings, directory)
        })?;
        let schemathesis = tool_directory("schemathesis");
        let list = settings.join("requirements.txt");
        install_once(&schemathesis, &list, install_schemathesis)?;
        Ok(Self {
            spectral: spectral.join("node_modules/.bin/spectral"),
            schemathesis: schemathesis.join("bin/schemathesis"),
        })
    }
}

/// Tools that test and lint the console. Needs npm.
#[derive(Debug)]
pub(crate) struct ConsoleTools {
    directory: PathBuf,
}

impl ConsoleTools {
    /// Finds what was installed before, or installs it, and puts the tests of today beside it.
    pub(crate) fn find_or_install() -> Result<Self, Failure> {
        let source = cargo::workspace_root().join("tests/console");
        let tools = Self { directory: tool_directory("console") };
        install_once(&tools.directory, &source.join("package-lock.json"), |directory| {
            install_from_npm(&source, directory)
        })?;
        // In an empty directory, so that no deleted test stays.
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
pub(crate) fn find_chromium() -> Option<PathBuf> {
    std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| program::find("chromium"))
}

/// The test issuer's script, with its packages beside it. Needs npm.
pub(crate) fn find_or_install_issuer() -> Result<PathBuf, Failure> {
    let (source, directory) =
        (cargo::workspace_root().join("tests/oidc"), tool_directory("issuer"));
    install_once(&directory, &source.join("package-lock.json"), |directory| {
        install_from_npm(&source, directory)
    })?;
    copy("issuer.js", &source, &directory)?;
    Ok(directory.join("issuer.js"))
}

/// The rules, the settings and the estate of the API's tests.
pub(crate) fn settings_directory() -> PathBuf {
    cargo::workspace_root().join("tests/api")
}

/// The directory of one tool.
pub(crate) fn tool_directory(tool: &str) -> PathBuf {
    cargo::target_directory().join("tools").join(tool)
}

/// Calls `install` with an empty directory unless it was filled by the same list of versions. The list is copied there
/// last, so an interrupted installation begins again.
pub(crate) fn install_once(
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
    cargo::make_anew(directory).map_err(trouble)?;
    install(directory)?;
    fs::write(stamp, wanted).map_err(trouble)
}

/// Installs the packages in the lock of `source`.
pub(crate) fn install_from_npm(source: &Path, directory: &Path) -> Result<(), Failure> {
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
