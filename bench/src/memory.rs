//! Case 13, and memory in other cases: the private memory of a process.

use std::time::Duration;
use std::{fs, io};

use crate::batches::load;
use crate::failure::Failure;
use crate::result_line::ResultLine;
use crate::server::Server;

/// Most private memory of a server after all other cases, in MiB.
const GOAL_MIB: f64 = 100.0;

/// Idle time before the measurement, in which a server frees memory of earlier work.
const CALM: Duration = Duration::from_secs(15);

/// A server's private memory after all other cases: at once, and, unless the run is quick, after an idle time.
pub(crate) fn measure(server: &Server, is_quick: bool) -> Result<Vec<ResultLine>, Failure> {
    let at_once = anonymous_mib(server.process_id())?;
    let mut lines =
        vec![ResultLine::alone("anonymous memory after the last work", "MiB", vec![at_once])];
    if is_quick {
        eprintln!("bench: a quick run skips the memory after an idle time");
    } else {
        load::pause(CALM)?;
        let calm = anonymous_mib(server.process_id())?;
        let line = ResultLine::alone("the same after fifteen quiet seconds", "MiB", vec![calm]);
        lines.push(line.at_most(GOAL_MIB));
    }
    Ok(lines)
}

/// The resident memory that belongs to no file, in MiB.
pub(crate) fn anonymous_mib(process_id: i32) -> Result<f64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"));
    let kib = status.and_then(|text| {
        let figure = read(&text, "RssAnon:");
        figure.ok_or_else(|| io::Error::other("the kernel doesn't tell the anonymous memory"))
    });
    Ok(kib.map_err(Failure::unreadable_usage)? / 1024.0)
}

fn read(text: &str, name: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_found_among_others() {
        assert_eq!(read("VmRSS:\t  900 kB\nRssAnon:\t  512 kB\n", "RssAnon:"), Some(512.0));
        assert_eq!(read("VmRSS:\t  900 kB\n", "RssAnon:"), None);
        assert!(anonymous_mib(std::process::id().cast_signed()).unwrap() > 0.0);
    }
}
