//! Files with results: in `bench/results` of the repository for a whole run, and in `quick` below it for a quick one.
//! Results of a `--check`, or of another number of accesses, go to `latest`, outside the repository.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::cases::CASES;
use crate::failure::Failure;
use crate::options::Options;
use crate::plot;
use crate::report::{Chapter, Report, replace_section};

const FILE: &str = "results.json";

/// Collects results, chapter by chapter.
pub(crate) struct Results {
    directory: PathBuf,
    /// The documentation page to update, if any.
    page: Option<PathBuf>,
    /// The stored results to compare with.
    baseline: Option<Report>,
    /// Measurements of this run.
    measured: Report,
    /// Measurements of this run, and earlier ones that this run doesn't replace.
    all: Report,
}

impl Results {
    pub(crate) fn open(options: &Options) -> Result<Self, Failure> {
        // `cargo run` sets the package's present directory; the compiled one serves a direct start.
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        Self::open_in(&package, options)
    }

    fn open_in(package: &Path, options: &Options) -> Result<Self, Failure> {
        let all = package.join("results");
        let own = if options.quick { all.join("quick") } else { all.clone() };
        let baseline = read(&own)?;
        if options.check && baseline.chapters.is_empty() {
            let why = format!("there is nothing to compare with in {}", own.display());
            return Err(Failure::Step(why));
        }
        // Results of another number of accesses are separate.
        let is_temporary = options.check || !options.has_usual_rows();
        let page = package.with_file_name("docs").join("performance.md");
        Ok(Self {
            page: (!is_temporary && !options.quick).then_some(page),
            measured: Report::default(),
            all: if is_temporary { Report::default() } else { baseline.clone() },
            baseline: options.check.then_some(baseline),
            directory: if is_temporary { all.join("latest") } else { own },
        })
    }

    /// Measurements of this run so far.
    pub(crate) fn measured(&self) -> &Report {
        &self.measured
    }

    /// The stored results to compare with.
    pub(crate) fn baseline(&self) -> Option<&Report> {
        self.baseline.as_ref()
    }

    /// Adds a chapter and writes all files, so that an interrupted run keeps its results.
    pub(crate) fn put(&mut self, chapter: Chapter) -> Result<(), Failure> {
        if let Some(line) = chapter.lines.iter().find(|line| !line.is_complete()) {
            return Err(Failure::Step(format!("there are no figures for `{}`", line.what)));
        }
        self.measured.put(chapter.clone());
        self.all.put(chapter);
        let json = serde_json::to_string_pretty(&self.all);
        let json = json.map_err(|cause| Failure::Step(cause.to_string()))?;
        write(&self.directory.join(FILE), &format!("{json}\n"))?;
        write(&self.directory.join("results.md"), &self.all.markdown())?;
        for (name, picture) in plot::all(&self.all) {
            write(&self.directory.join(name), &picture)?;
        }
        match &self.page {
            Some(page) => self.write_into(page),
            None => Ok(()),
        }
    }

    /// Replaces every table of the documentation.
    fn write_into(&self, page: &Path) -> Result<(), Failure> {
        let mut text = fs::read_to_string(page).map_err(|cause| Failure::of_path(page, &cause))?;
        let chapters = CASES.iter().filter_map(|case| {
            let table = self.all.chapter(case.number)?;
            Some((case.number.to_string(), table))
        });
        for (name, table) in chapters.chain([("summary".to_owned(), self.all.summary())]) {
            text = replace_section(&text, &name, &table).ok_or_else(|| {
                Failure::Step(format!("{} has no place for {name}", page.display()))
            })?;
        }
        write(page, &text)
    }
}

/// Reads stored results; empty if there are none.
fn read(directory: &Path) -> Result<Report, Failure> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|cause| Failure::of_path(&path, &io::Error::other(cause))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Report::default()),
        Err(cause) => Err(Failure::of_path(&path, &cause)),
    }
}

/// Writes a file atomically, through a temporary file.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let new = path.with_extension("new");
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(&new, text));
    let written = written.and_then(|()| fs::rename(&new, path));
    written.map_err(|cause| Failure::of_path(path, &cause))
}

#[cfg(test)]
mod tests;
