//! `gatehouse backup`: a copy of the data directory, as it is at one moment, while a server uses it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_server::config::Config;
use gatehouse_store::{Clock, Store};

use crate::serve::Settings;

/// Copy the embedded store and its keys to another directory, also while a server uses them
#[derive(Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    settings: Settings,
    /// The directory to make; it must not be there yet, or be empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        if config.database_url.is_some() {
            return Err(
                "this copies the embedded store, and the settings name a PostgreSQL database: \
                        save that with pg_dump, as docs/operating.md says"
                    .into(),
            );
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
        let (bytes, keys) = runtime.block_on(self.copy(&config))?;
        let (from, to) = (config.data_dir.display(), self.to.display());
        println!("copied {from} to {to}: {bytes} bytes, and {}", keys.join(" and "));
        if !keys.iter().any(|name| name == "master.key") {
            println!(
                "the master key is not in it, because it does not lie beside the store: keep a copy of that too"
            );
        }
        println!(
            "look at it with `gatehouse doctor --deep --data-dir {to}`, and keep it where nobody else reads it"
        );
        Ok(())
    }

    /// Copies the store, and tells how large it is and which keys went along.
    async fn copy(&self, config: &Config) -> Result<(u64, Vec<String>), String> {
        let from = &config.data_dir;
        let store = Store::attach_sqlite(&config.database_file(), Clock::machine()).await;
        let store = store.map_err(|why| why.explained())?;
        let store = store.ok_or_else(|| {
            format!("there is no store in {}: name its directory with --data-dir", from.display())
        })?;
        make_empty(&self.to)?;
        let file = config.database_file();
        let name = file.file_name().unwrap_or_default();
        // It has its name when it is whole, so that nobody takes a part for the store.
        let (part, whole) = (self.to.join("unfinished"), self.to.join(name));
        let failed = |what: &Path| {
            let what = what.display().to_string();
            move |cause: io::Error| format!("{what}: {cause}")
        };
        drop(owners_own().open(&part).map_err(failed(&part))?);
        store.copy_to(&part).await.map_err(|why| why.explained())?;
        let keys = copy_keys(from, &self.to)?;
        let copied = File::open(&part).and_then(|it| it.sync_all().and_then(|()| it.metadata()));
        let bytes = copied.map_err(failed(&part))?.len();
        fs::rename(&part, &whole).map_err(failed(&whole))?;
        let synced = File::open(&self.to).and_then(|directory| directory.sync_all());
        synced.map_err(failed(&self.to))?;
        Ok((bytes, keys))
    }
}

/// A file that is new, or empty, and its owner's alone.
fn owners_own() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

fn make_empty(directory: &Path) -> Result<(), String> {
    let failed = |cause| format!("{}: {cause}", directory.display());
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    match fs::read_dir(directory).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => Err(format!(
            "{} is not empty: give a directory that is not there yet, so that no backup is overwritten",
            directory.display()
        )),
    }
}

/// Copies what lies beside the store: the files of keys.
fn copy_keys(from: &Path, to: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let failed = |path: &Path, cause| format!("{}: {cause}", path.display());
    for entry in fs::read_dir(from).map_err(|cause| failed(from, cause))? {
        let path = entry.map_err(|cause| failed(from, cause))?.path();
        let Some(name) = path.file_name().filter(|_| path.extension() == Some("key".as_ref()))
        else {
            continue;
        };
        let copied = fs::File::open(&path).and_then(|mut source| {
            let mut target = owners_own().open(to.join(name))?;
            io::copy(&mut source, &mut target)?;
            target.sync_all()
        });
        copied.map_err(|cause| failed(&path, cause))?;
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
