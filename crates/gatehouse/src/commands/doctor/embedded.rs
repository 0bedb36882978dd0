//! Checks the file of an embedded store, and advises.

use gatehouse_server::config::Config;
use gatehouse_server::keys;
use gatehouse_store::{Integrity, Usage, check_fully, check_quickly};
use tokio_util::sync::CancellationToken;

use super::Findings;

/// Whether the database is sound, or doesn't exist yet. A damaged one is not examined further.
pub(in crate::commands::doctor) fn examine(
    config: &Config,
    is_deep: bool,
    findings: &mut Findings,
) -> bool {
    let file = config.database_file();
    let checked = match is_deep {
        true => check_fully(&file, Usage::Live, &CancellationToken::new()),
        false => check_quickly(&file, Usage::Live),
    };
    let advice = "stop the server, and restore a backup with `gatehouse restore --from BACKUP`";
    let location = file.display();
    match checked {
        Integrity::Sound if is_deep => {
            findings.good(&format!("every page of {location} is sound"));
            true
        }
        Integrity::Sound => {
            findings.good(&format!("{location} passes a quick check (--deep reads every page)"));
            true
        }
        Integrity::Damaged(damage) => {
            let n = damage.findings().len();
            let n = if damage.has_more() { format!("{n} or more") } else { n.to_string() };
            let s = if n == "1" { "" } else { "s" };
            findings.wrong(&format!("the store is damaged ({n} finding{s}): {advice}"));
            damage.findings().iter().for_each(|it| println!("       {it}"));
            false
        }
        Integrity::Absent(what) => {
            let keys = keys::store_key_files(config);
            if keys.is_empty() {
                // The missing store is reported with the rest.
                return true;
            }
            let keys: Vec<_> = keys.iter().map(|it| it.display().to_string()).collect();
            findings.wrong(&format!(
                "{what}, but there are keys next to it ({}), so there was a store: {advice}; or, if there is \
                 nothing to restore, begin with an empty store by `gatehouse serve --start-empty`",
                keys.join(", ")
            ));
            false
        }
        Integrity::Unchecked(why) => {
            findings.wrong(&format!("{location} can't be checked: {why}: may you read it?"));
            false
        }
        Integrity::Interrupted | Integrity::NotApplicable => true,
    }
}
