//! `gatehouse audit verify`: checks every journal.

use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_server::app::App;
use gatehouse_store::{JournalHead, StoreError};

use super::head::{HeadLine, shown};
use crate::commands::serve::Settings;
use crate::host::open_store::{self, Intent};

#[derive(Args)]
#[command(after_help = "\
Each event has a MAC of itself and the ones before. An event that was altered, inserted or removed behind the server's
back breaks the chain; the first one is named. Only what was kept elsewhere shows that a journal was replaced as a
whole: gatehouse audit head > FILE, and later --against FILE.")]
pub(crate) struct Verify {
    /// A file with earlier lines of `gatehouse audit head`: the journals must continue them
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

impl Verify {
    pub(super) async fn run(self) -> Result<(), String> {
        let kept = match &self.against {
            Some(path) => read_heads(path)?,
            None => Vec::new(),
        };
        let config = self.settings.load(&[])?;
        let app = open_store::open(&config, Intent::Read).await?;
        let mut n_wrong = 0;
        let checked = check_journals(&app, &kept, &mut |line| match line {
            Ok(good) => println!("ok     {good}"),
            Err(wrong) => {
                println!("WRONG  {wrong}");
                n_wrong += 1;
            }
        })
        .await;
        app.store.close().await;
        checked.map_err(|why| why.explained())?;
        match n_wrong {
            0 => Ok(()),
            1 => Err("1 journal is not as it was written".into()),
            n => Err(format!("{n} journals are not as they were written")),
        }
    }
}

fn read_heads(path: &Path) -> Result<Vec<JournalHead>, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|why| format!("--against: {}: {why}", path.display()))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            let head = line.parse::<HeadLine>();
            head.map(|it| it.0).map_err(|why| format!("--against: line {n}: {why}"))
        })
        .collect()
}

/// Checks every journal, and tells of each whether it is as it was written.
pub(crate) async fn check_journals(
    app: &App,
    kept: &[JournalHead],
    tell: &mut dyn FnMut(Result<String, String>),
) -> Result<(), StoreError> {
    let journals = app.store.journals().await?;
    for head in kept.iter().filter(|head| !journals.contains(&head.journal)) {
        tell(Err(format!("{}: there is none any more", shown(&head.journal))));
    }
    for journal in journals {
        let kept = kept.iter().rfind(|it| it.journal == journal);
        let name = shown(&journal);
        let checked = app.store.check_journal(&journal, app.chain_key(), kept).await?;
        // A tenant may have been deleted meanwhile.
        let Some(checked) = checked else { continue };
        let oldest = checked.deleted_to + 1;
        let note = match kept {
            Some(head) if head.number > 0 && head.number < checked.deleted_to => format!(
                "; the kept head, of event {}, is older than the oldest event, {oldest}, and says nothing any more",
                head.number
            ),
            _ => String::new(),
        };
        match (checked.first_break, checked.n_events) {
            (Some(why), _) => tell(Err(format!("{name}: {why}{note}"))),
            (None, 0) if checked.last == 0 => tell(Ok(format!("{name}: none"))),
            (None, 0) => tell(Ok(format!(
                "{name}: all, up to number {}, were deleted for their age{note}",
                checked.last
            ))),
            (None, n) => {
                let last = checked.last;
                let are = if n == 1 { "event is as it was" } else { "events are as they were" };
                tell(Ok(format!("{name}: {n} {are} written, up to number {last}{note}")));
            }
        }
    }
    Ok(())
}
