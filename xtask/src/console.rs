//! Tests and lints of the console: tests drive its pages in a browser, biome lints its source, and the TypeScript compiler
//! checks the types in its comments.
//!
//! The tests and the settings of the tools are in `tests/console`.

mod tools;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::Failure;
use crate::tools::node::Node;
use crate::tools::requirement::find_chromium;
use crate::tools::{issuer, program};
use tools::ConsoleTools;

/// File with the names of the README's screenshots, one on each line.
const README_IMAGES: &str = "tests/console/readme_images.txt";

/// Runs the console's tests against the server `binary`; returns the directory of their screenshots.
pub(crate) fn test(node: &Node, binary: &Path) -> Result<PathBuf, Failure> {
    let tools = ConsoleTools::find_or_install()?;
    let issuer = issuer::find_or_install()?;
    let chromium =
        find_chromium().ok_or_else(|| Failure::Trouble("Chromium is not in PATH".to_owned()))?;
    let screenshots = cargo::target_directory().join("screenshots");
    cargo::recreate_directory(&screenshots)?;
    let summary = tools.tests_directory().join("summary.tap");
    let mut summary_option = OsString::from("--test-reporter-destination=");
    summary_option.push(&summary);

    let mut runner = Command::new("node");
    runner
        .current_dir(cargo::workspace_root())
        .args(["--test", "--test-concurrency=2"])
        .args(["--test-reporter=spec", "--test-reporter-destination=stdout"])
        .arg("--test-reporter=tap")
        .arg(summary_option)
        .args(tools.tests()?)
        .env("PATH", node.path())
        .env("TEST_GATEHOUSE_BINARY", binary)
        .env("TEST_ISSUER", issuer)
        .env("TEST_CONSOLE", cargo::workspace_root().join("console"))
        .env("TEST_SCREENSHOTS", &screenshots)
        .env("CHROMIUM", chromium);
    let name = "node --test tests/console";
    let status = program::run_to_status(&mut runner, name)?;

    let tested = fs::read_to_string(&summary).ok().and_then(|text| TestCounts::read(&text));
    if let Some(TestCounts { n_passed, n_failed }) = tested {
        println!("console: {n_passed} passed, {n_failed} failed");
    }
    if !status.success() {
        eprintln!("xtask: pictures of what failed are in {}", screenshots.display());
        return Err(Failure::Program { name: name.to_owned(), status });
    }
    match tested {
        Some(TestCounts { n_passed: 1.., n_failed: 0 }) => Ok(screenshots),
        _ => Err(Failure::Trouble(
            "the tests of the console ended well, but none has run, or some were left out".into(),
        )),
    }
}

/// Runs the console's tests, and copies the README's screenshots to `docs/images`.
pub(crate) fn take_screenshots(node: &Node, binary: &Path) -> Result<(), Failure> {
    let screenshots = test(node, binary)?;
    let images = "docs/images";
    cargo::make_directory(images)?;
    let trouble = |what: &str, cause| {
        Failure::Trouble(format!("{what} can't be copied to {images}: {cause}"))
    };
    let root = cargo::workspace_root();
    let chosen = fs::read_to_string(root.join(README_IMAGES))
        .map_err(|cause| trouble(README_IMAGES, cause))?;
    for name in chosen.lines() {
        fs::copy(screenshots.join(name), root.join(images).join(name))
            .map_err(|cause| trouble(name, cause))?;
        println!("{images}/{name}");
    }
    Ok(())
}

/// Lints the source of the console, of its tests, of the test issuer and of the test subscribers.
pub(crate) fn lint(node: &Node) -> Result<(), Failure> {
    let tools = ConsoleTools::find_or_install()?;
    let settings = cargo::workspace_root().join("tests/console");
    let (biome, rules) = (tools.program("biome"), settings.join("lint.jsonc"));
    let sources = ["console", "tests/console", "tests/oidc", "tests/subscribers"];
    let mut ci = Command::new(&biome);
    ci.current_dir(cargo::workspace_root()).env("PATH", node.path());
    ci.args(["ci", "--colors=off", "--error-on-warnings", "--config-path"]).arg(&rules);
    program::run(ci.args(sources), "biome ci").inspect_err(|_| {
        let (biome, rules, sources) = (biome.display(), rules.display(), sources.join(" "));
        eprintln!(
            "xtask: this command mends most: {biome} check --write --config-path {rules} {sources}"
        );
    })?;

    // The tests are checked where their packages are installed.
    let tests = tools.tests_directory().join("tsconfig.tests.json");
    for project in [settings.join("tsconfig.json"), tests] {
        let mut tsc = Command::new(tools.program("tsc"));
        tsc.current_dir(cargo::workspace_root())
            .env("PATH", node.path())
            .arg("--project")
            .arg(&project);
        program::run(&mut tsc, &format!("tsc --project {}", project.display()))?;
    }
    Ok(())
}

/// Number of tests that have passed and failed.
#[derive(Debug, PartialEq, Eq)]
struct TestCounts {
    n_passed: u32,
    n_failed: u32,
}

impl TestCounts {
    /// Reads the summary that Node.js writes, in the Test Anything Protocol.
    fn read(summary: &str) -> Option<Self> {
        let count = |what: &str| {
            let start = format!("# {what} ");
            summary.lines().find_map(|line| line.strip_prefix(&start))?.trim().parse::<u32>().ok()
        };
        // A test that was cancelled or skipped counts as failed.
        let failed = ["fail", "cancelled", "skipped", "todo"].map(count);
        let n_failed = failed.into_iter().sum::<Option<u32>>()?;
        Some(Self { n_passed: count("pass")?, n_failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_and_skipped_tests_have_failed() {
        let summary = "ok 3 - the first view is small\n1..3\n# tests 6\n# suites 0\n# pass 3\n# fail 2\n\
                       # cancelled 1\n# skipped 1\n# todo 0\n# duration_ms 6150.719134\n";
        assert_eq!(TestCounts::read(summary), Some(TestCounts { n_passed: 3, n_failed: 4 }));
        assert_eq!(TestCounts::read("TAP version 13\n1..0\n"), None);
    }
}
