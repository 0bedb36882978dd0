//! The limit on open files: every connection of a client or to a platform is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that aren't connections: of the store, the listeners and the log.
const OTHER_FILES: usize = 64;

/// Wanted limit: enough for the default connections and all calls to platforms.
const WANTED_FILES: u64 = 65_536;

/// Bounds of concurrent calls to platforms.
const CALLS_MIN: usize = 64;
const CALLS_MAX: usize = 4096;

/// Share of the files for calls to platforms: one in this many.
const CALLS_DIVISOR: usize = 4;

/// Files per call: its connection may stay open for the next call.
const FILES_PER_CALL: usize = 2;

/// Raises the limit on open files. Systems start low, for the sake of old programs.
pub fn raise_open_files() {
    let Some(higher) = raised(&getrlimit(Resource::Nofile)) else { return };
    let n_files = higher.current;
    match setrlimit(Resource::Nofile, higher) {
        Ok(()) => tracing::debug!(n_files, "the limit of open files is raised"),
        // The present limit suffices for a smaller server.
        Err(cause) => tracing::debug!(n_files, %cause, "the limit of open files can't be raised"),
    }
}

/// The raised limit, if it is higher than the present one.
fn raised(limit: &Rlimit) -> Option<Rlimit> {
    // No limit.
    let current = limit.current?;
    let higher = limit.maximum.unwrap_or(WANTED_FILES).min(WANTED_FILES);
    (current < higher).then_some(Rlimit { current: Some(higher), maximum: limit.maximum })
}

/// The limit on open files, if there is one.
#[derive(Clone, Copy)]
pub(super) struct OpenFiles(Option<usize>);

impl OpenFiles {
    /// The present limit.
    pub(super) fn now() -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        Self(limit.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    }

    /// Most concurrent calls to platforms.
    pub(super) fn calls_at_once(self) -> usize {
        self.0.map_or(CALLS_MAX, |n_files| (n_files / CALLS_DIVISOR).clamp(CALLS_MIN, CALLS_MAX))
    }

    /// Most client connections, at most `allowed`.
    pub(super) fn capacity(self, allowed: u64, n_others: usize) -> usize {
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        let Some(n_files) = self.0 else { return allowed };
        let n_reserved = FILES_PER_CALL * self.calls_at_once();
        let possible = n_files.saturating_sub(OTHER_FILES + n_others + n_reserved).max(1);
        if possible < allowed {
            tracing::warn!(
                "limits.connections is {allowed}, and the system allows {n_files} open files, of which \
                 {n_reserved} are reserved for platforms: only {possible} connections are held; raise the limit of \
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
    fn the_limit_is_raised_to_the_allowed_and_wanted_maximum() {
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
    fn platform_calls_get_a_quarter_of_the_files_within_bounds() {
        let cases =
            [(1, 64), (1024, 256), (4096, 1024), (20_000, 4096), (65_536, 4096), (1 << 20, 4096)];
        for (n_files, n_calls) in cases {
            assert_eq!(OpenFiles(Some(n_files)).calls_at_once(), n_calls, "{n_files}");
        }
        assert_eq!(OpenFiles(None).calls_at_once(), 4096);
    }

    #[test]
    fn the_files_bound_the_connections() {
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
    fn the_soft_limit_counts() {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = limits.lines().find_map(|it| it.strip_prefix("Max open files")).unwrap();
        let soft = line.split_whitespace().next().unwrap();
        assert_eq!(OpenFiles::now().0, soft.parse().ok());
    }
}
