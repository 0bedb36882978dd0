//! How many files the system lets us have open: every connection is one, those of clients and those to platforms.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connections: the store's, the listeners', the log's.
const OTHER_FILES: usize = 64;

/// As many as are wanted: for all connections that are allowed unless set otherwise, and all calls to platforms.
const WANTED_FILES: u64 = 65_536;

/// Fewest and most calls to platforms at the same time.
const CALLS_MIN: usize = 64;
const CALLS_MAX: usize = 4096;

/// Part of all files that such calls may take.
const CALLS_SHARE: usize = 4;

/// How often each of these calls counts: after it, its connection may be kept for the next one.
const FILES_OF_CALL: usize = 2;

/// Lets the process have as many files open as it may and is good for it. Systems allow few at first, for the
/// sake of programs that can't count further.
pub fn raise_open_files() {
    let Some(higher) = raised(&getrlimit(Resource::Nofile)) else { return };
    let n_files = higher.current;
    match setrlimit(Resource::Nofile, higher) {
        Ok(()) => tracing::debug!(n_files, "the limit of open files is raised"),
        // What is to be had is enough for a smaller server.
        Err(cause) => tracing::debug!(n_files, %cause, "the limit of open files can't be raised"),
    }
}

/// The limit as it is to be, where that is higher than it is.
fn raised(limit: &Rlimit) -> Option<Rlimit> {
    // Without a limit there is nothing to raise.
    let current = limit.current?;
    let higher = limit.maximum.unwrap_or(WANTED_FILES).min(WANTED_FILES);
    (current < higher).then_some(Rlimit { current: Some(higher), maximum: limit.maximum })
}

/// How many files may be open, as far as there is a limit.
#[derive(Clone, Copy)]
pub(super) struct OpenFiles(Option<usize>);

impl OpenFiles {
    /// The limit that holds now.
    pub(super) fn now() -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        Self(limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    }

    /// How many calls to platforms may be under way at the same time.
    pub(super) fn calls_at_once(self) -> usize {
        self.0.map_or(CALLS_MAX, |n_files| (n_files / CALLS_SHARE).clamp(CALLS_MIN, CALLS_MAX))
    }

    /// How many connections of clients there is room for, of those that the settings allow.
    pub(super) fn capacity(self, allowed: u64, n_others: usize) -> usize {
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        let Some(n_files) = self.0 else { return allowed };
        let n_kept = FILES_OF_CALL * self.calls_at_once();
        let possible = n_files.saturating_sub(OTHER_FILES + n_others + n_kept).max(1);
        if possible < allowed {
            tracing::warn!(
                "limits.connections is {allowed}, and the system allows {n_files} open files, of which \
                 {n_kept} are kept for platforms: only {possible} connections are held; raise the limit of \
                 open files (`ulimit -Hn`) or lower the setting"
            );
        }
        possible.min(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_it_may_be_and_is_wanted() {
        #[rustfmt::skip]
        let cases = [
            // current, at most,   raised to
            (Some(1024),    Some(524_288), Some(65_536)),
            (Some(1024),    Some(4096),    Some(4096)),
            (Some(1024),    None,          Some(65_536)),
            (Some(4096),    Some(4096),    None),
            (Some(65_536),  Some(524_288), None),
            (Some(100_000), Some(524_288), None),
            (None,          None,          None),
        ];
        for (current, maximum, expected) in cases {
            let higher = raised(&Rlimit { current, maximum });
            assert_eq!(higher.as_ref().and_then(|it| it.current), expected, "{current:?}");
            assert!(higher.is_none_or(|it| it.maximum == maximum), "{maximum:?}");
        }
    }

    #[test]
    fn platforms_get_a_quarter_of_the_files_and_never_few() {
        let cases =
            [(1, 64), (1024, 256), (4096, 1024), (20_000, 4096), (65_536, 4096), (1 << 20, 4096)];
        for (n_files, n_calls) in cases {
            assert_eq!(OpenFiles(Some(n_files)).calls_at_once(), n_calls, "{n_files}");
        }
        assert_eq!(OpenFiles(None).calls_at_once(), 4096);
    }

    #[test]
    fn no_more_connections_are_held_than_there_are_files_for() {
        #[rustfmt::skip]
        let cases = [
            // files,  allowed, held: files without 64, 64 of operators, and two for each call
            (65_536, 10_000,   10_000),
            (65_536, u64::MAX, 65_536 - 64 - 64 - 2 * 4096),
            (1024,   10_000,   1024 - 64 - 64 - 2 * 256),
            (1024,   100,      100),
            (128,    10_000,   1),
        ];
        for (n_files, allowed, held) in cases {
            assert_eq!(OpenFiles(Some(n_files)).capacity(allowed, 64), held, "{n_files} {allowed}");
        }
        assert_eq!(OpenFiles(None).capacity(10_000, 64), 10_000);
    }

    #[test]
    fn the_limit_that_holds_is_the_soft_one() {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = limits.lines().find_map(|it| it.strip_prefix("Max open files")).unwrap();
        let soft = line.split_whitespace().next().unwrap();
        assert_eq!(OpenFiles::now().0, soft.parse().ok());
    }
}
