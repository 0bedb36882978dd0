//! Figures of the process under the usual Prometheus names, read from `/proc` at each scrape; zero without `/proc`.

use std::fs;
use std::sync::LazyLock;

use gatehouse_meter::MetricSet;
use parking_lot::Mutex;
use prometheus::{Counter, Gauge, IntGauge};
use rustix::fs::Dir;

/// Linux's unit of processor time towards programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Figures of the process.
pub(super) struct ProcessMeter {
    cpu_seconds: Counter,
    /// Held during an update: two at once would count the same time twice.
    updating: Mutex<()>,
    start_time: Gauge,
    resident_bytes: IntGauge,
    virtual_bytes: IntGauge,
    open_fds: IntGauge,
    max_fds: IntGauge,
    threads: IntGauge,
}

impl ProcessMeter {
    pub(super) fn new(metrics: &mut MetricSet) -> Self {
        Self {
            cpu_seconds: metrics.counter(
                "process_cpu_seconds_total",
                "Processor time that the process has used, in seconds",
            ),
            updating: Mutex::default(),
            start_time: metrics.gauge(
                "process_start_time_seconds",
                "When the process began, in seconds since 1970",
            ),
            resident_bytes: metrics.gauge("process_resident_memory_bytes", "Memory that is in use"),
            virtual_bytes: metrics.gauge("process_virtual_memory_bytes", "Memory that is reserved"),
            open_fds: metrics.gauge("process_open_fds", "Open file descriptors"),
            max_fds: metrics.gauge("process_max_fds", "File descriptors that may be open"),
            threads: metrics.gauge("process_threads", "Threads of the process"),
        }
    }

    /// Updates the figures.
    pub(super) fn update(&self) {
        if let Some(stat_values) = ProcessStat::of(&read("/proc/self/stat"), &read("/proc/stat")) {
            let _updating = self.updating.lock();
            let more = stat_values.cpu_seconds - self.cpu_seconds.get();
            if more > 0.0 {
                self.cpu_seconds.inc_by(more);
            }
            self.start_time.set(stat_values.start_time);
            self.threads.set(stat_values.n_threads);
        }
        let status = read("/proc/self/status");
        let kibibytes = |name| number_after(&status, name).map(|it| it * 1024);
        set(&self.resident_bytes, kibibytes("VmRSS:"));
        set(&self.virtual_bytes, kibibytes("VmSize:"));
        set(&self.max_fds, number_after(&read("/proc/self/limits"), "Max open files"));
        set(&self.open_fds, Self::open_files().and_then(|it| i64::try_from(it).ok()));
    }
}

impl ProcessMeter {
    /// Number of open files, without this directory.
    fn open_files() -> Option<usize> {
        let mut directory = OPEN_FILES_DIR.lock();
        let directory = directory.as_mut()?;
        directory.rewind();
        let is_number = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
        let entries = directory.filter_map(Result::ok);
        Some(entries.filter(|it| is_number(it.file_name().to_bytes())).count().saturating_sub(1))
    }
}

/// The directory of the process's open files. Opened once: later the process may no longer be allowed to.
static OPEN_FILES_DIR: LazyLock<Mutex<Option<Dir>>> = LazyLock::new(|| {
    let directory = fs::File::open("/proc/self/fd").ok();
    Mutex::new(directory.and_then(|it| Dir::new(it).ok()))
});

/// Opens the directory of open files, while that is allowed.
pub(crate) fn open_process_files() {
    LazyLock::force(&OPEN_FILES_DIR);
}

/// Values of `/proc/self/stat`.
struct ProcessStat {
    cpu_seconds: f64,
    start_time: f64,
    n_threads: i64,
}

impl ProcessStat {
    /// Parses `/proc/self/stat`, with `/proc/stat` for the boot time.
    fn of(stat: &str, machine: &str) -> Option<Self> {
        // The name in parentheses may contain anything, so fields are counted after it: the third follows.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |n: usize| fields.get(n - 3).and_then(|it| it.parse::<f64>().ok());
        Some(Self {
            cpu_seconds: (number(14)? + number(15)?) / TICKS_PER_SECOND,
            start_time: number_after(machine, "btime")? as f64 + number(22)? / TICKS_PER_SECOND,
            n_threads: number(20)? as i64,
        })
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn set(gauge: &IntGauge, value: Option<i64>) {
    if let Some(value) = value {
        gauge.set(value);
    }
}

/// The first number on the line that starts with `name`.
fn number_after(text: &str, name: &str) -> Option<i64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stat_of_a_process_with_any_name_is_parsed() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 12 0 400 1 2 3";
        let stat_values = ProcessStat::of(stat, "cpu 1 2\nbtime 1800000000\n").unwrap();
        assert_eq!((stat_values.cpu_seconds, stat_values.n_threads), (3.0, 12));
        assert_eq!(stat_values.start_time, 1_800_000_004.0);
        assert!(ProcessStat::of("", "").is_none());
    }

    #[test]
    fn the_figures_of_this_process_are_read() {
        let meter = ProcessMeter::new(&mut MetricSet::default());
        meter.update();
        assert!(meter.resident_bytes.get() > 1 << 20);
        assert!(meter.virtual_bytes.get() >= meter.resident_bytes.get());
        assert!(meter.open_fds.get() >= 3 && meter.max_fds.get() >= meter.open_fds.get());
        assert!(meter.threads.get() >= 1 && meter.start_time.get() > 1_700_000_000.0);
    }
}
