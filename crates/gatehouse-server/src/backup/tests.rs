use super::backup_directory::{BackupDirectory, name_of};
use super::*;
use gatehouse_core::Timestamp;
use std::time::Duration;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn only_complete_backups_named_by_time_count() {
    let dir = tempfile::tempdir().unwrap();
    let directory = BackupDirectory::new(&dir.path().join("backups"));
    let (now, every) = (at("2026-11-17T09:30:00.250Z"), Duration::from_secs(100));
    assert_eq!(name_of(now), "20261117T093000Z");
    assert_eq!(directory.backups().unwrap(), [], "there is no directory yet");
    assert_eq!(directory.due_in(now, every).unwrap(), Duration::ZERO);
    for (name, is_complete) in [
        ("20261117T092930Z", true),
        ("20261117T092000Z", true),
        ("20261117T092959Z", false),
        ("20261117T092959", true),
        ("20261317T092959Z", true),
        ("2026111T7092959Z", true),
        ("+0261117T092959Z", true),
        ("latest", true),
    ] {
        let path = dir.path().join("backups").join(name);
        std::fs::create_dir_all(&path).unwrap();
        let file = if is_complete { DATABASE_FILE } else { "unfinished" };
        std::fs::write(path.join(file), "x").unwrap();
    }
    let times: Vec<_> = directory.backups().unwrap().iter().map(|it| it.time).collect();
    assert_eq!(times, [at("2026-11-17T09:20:00Z"), at("2026-11-17T09:29:30Z")]);
    assert_eq!(directory.due_in(now, every).unwrap(), Duration::from_millis(69_750));
    assert_eq!(directory.due_in(at("2026-11-17T09:31:10Z"), every).unwrap(), Duration::ZERO);
    assert_eq!(directory.remove_unfinished().unwrap(), Vec::<PathBuf>::new());
    let made = dir.path().join("backups/20261117T092000Z");
    assert_eq!(directory.remove_old(1, &made).unwrap(), Vec::<PathBuf>::new());
    let remaining: Vec<_> = directory.backups().unwrap().into_iter().map(|it| it.path).collect();
    assert_eq!(remaining, [made]);
    assert_eq!(std::fs::read_dir(dir.path().join("backups")).unwrap().count(), 6);
}
