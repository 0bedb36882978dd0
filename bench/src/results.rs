//! Where results are kept: `bench/results`, in the repository, for those of a whole run; beside them, and out of the
//! repository, those of a run that was quick or that was compared.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::cases::CASES;
use crate::failure::Failure;
use crate::options::Options;
use crate::plot;
use crate::report::{Chapter, Report, replace_section};

const FILE: &str = "results.json";

/// Results that come in one by one.
pub(crate) struct Results {
    directory: PathBuf,
    /// The documentation, where it is to have them.
    page: Option<PathBuf>,
    /// What is to be compared with.
    kept: Option<Report>,
    /// What this run has measured.
    measured: Report,
    /// The same, and what earlier ones did that this one doesn't.
    all: Report,
}

impl Results {
    pub(crate) fn open(options: &Options) -> Result<Self, Failure> {
        // `cargo run` says where the package is now; what was compiled in serves a direct start.
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let directory = package.join("results");
        let kept = read(&directory)?;
        let is_passing = options.quick || options.check;
        if options.check && kept.chapters.is_empty() {
            let why = format!("nothing to compare with in {}", directory.display());
            return Err(Failure::Trouble(why));
        }
        Ok(Self {
            page: (!is_passing).then(|| package.with_file_name("docs").join("performance.md")),
            measured: Report::default(),
            all: if is_passing { Report::default() } else { kept.clone() },
            kept: options.check.then_some(kept),
            directory: if is_passing { directory.join("latest") } else { directory },
        })
    }

    /// What this run has measured so far.
    pub(crate) fn measured(&self) -> &Report {
        &self.measured
    }

    /// What is to be compared with.
    pub(crate) fn kept(&self) -> Option<&Report> {
        self.kept.as_ref()
    }

    /// Takes a chapter in and writes everything down, so that a run that is ended early leaves what it has.
    pub(crate) fn put(&mut self, chapter: Chapter) -> Result<(), Failure> {
        self.measured.put(chapter.clone());
        self.all.put(chapter);
        let json = serde_json::to_string_pretty(&self.all);
        let json = json.map_err(|cause| Failure::Trouble(cause.to_string()))?;
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

    /// Puts every table in its place in the documentation.
    fn write_into(&self, page: &Path) -> Result<(), Failure> {
        let mut text = fs::read_to_string(page).map_err(|cause| trouble_with(page, &cause))?;
        let chapters = CASES.iter().filter_map(|case| {
            let table = self.all.chapter(case.number)?;
            Some((case.number.to_string(), table))
        });
        for (name, table) in chapters.chain([("summary".to_owned(), self.all.summary())]) {
            text = replace_section(&text, &name, &table).ok_or_else(|| {
                Failure::Trouble(format!("{} has no place for {name}", page.display()))
            })?;
        }
        write(page, &text)
    }
}

/// What is kept; nothing, where nothing is.
fn read(directory: &Path) -> Result<Report, Failure> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|cause| Failure::Trouble(format!("{}: {cause}", path.display()))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Report::default()),
        Err(cause) => Err(trouble_with(&path, &cause)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().map_or(Ok(()), fs::create_dir_all);
    directory.and_then(|()| fs::write(path, text)).map_err(|cause| trouble_with(path, &cause))
}

fn trouble_with(path: &Path, cause: &io::Error) -> Failure {
    Failure::Trouble(format!("{}: {cause}", path.display()))
}
