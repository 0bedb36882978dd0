//! How many files the system lets us have open: every connection is one.

/// Files that are no connections: the store's, the listeners', the log's.
const OTHER_FILES: usize = 64;

/// How many connections there is room for, of those that the settings allow.
pub(super) fn capacity(allowed: u64, n_others: usize) -> usize {
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
    // Where there is no such file, nobody can say.
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(n_files) = soft_limit(&limits) else { return allowed };
    let possible = n_files.saturating_sub(OTHER_FILES + n_others).max(1);
    if possible < allowed {
        tracing::warn!(
            "limits.connections is {allowed}, and the system allows {n_files} open files: only {possible} \
             connections are held; raise the limit of open files (`ulimit -n`) or lower the setting"
        );
    }
    possible.min(allowed)
}

/// The limit of open files that holds now; nothing when there is none.
fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_holds_is_the_soft_one() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             63432                63432                processes \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(soft_limit(limits), Some(1024));
        assert_eq!(soft_limit("Max open files            unlimited   unlimited  files"), None);
        assert_eq!(soft_limit(""), None);
    }

    #[test]
    fn no_more_connections_are_held_than_there_are_files_for() {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        assert_eq!(capacity(1, 64), 1);
        if let Some(n_files) = soft_limit(&limits) {
            assert!(capacity(u64::MAX, 64) < n_files);
        }
    }
}
