use super::*;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// A sink that blocks on a lock, and can fail.
struct Sink {
    may: Arc<Mutex<()>>,
    began: Sender<()>,
    written: Arc<Mutex<Vec<u8>>>,
    fails: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.began.send(());
        let _open = self.may.lock().unwrap();
        if self.fails {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_blocked_sink_delays_no_caller_and_lost_lines_are_counted() {
    let (may, written) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(Vec::new())));
    let (began, begun) = channel();
    let sink = Sink { may: Arc::clone(&may), began, written: Arc::clone(&written), fails: false };
    let queue = LogQueue::start(sink).unwrap();
    let shut = may.lock().unwrap();
    (&queue).write_all(b"first\n").unwrap();
    begun.recv().unwrap();
    for _ in 0..LINES_MAX + 7 {
        (&queue).write_all(b"line\n").unwrap();
    }
    assert_eq!(queue.progress.n_lost.load(Ordering::Relaxed), 7);
    queue.flush(Duration::ZERO);
    drop(shut);
    // The queue is full, and yet `flush` waits for all of it.
    queue.flush(LONG);
    assert_eq!(queue.progress.n_lost.load(Ordering::Relaxed), 0, "reported, and reset");
    let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    assert!(text.starts_with("first\nline\n"), "in their order");
    assert_eq!(text.lines().count(), 1 + LINES_MAX, "all that found room");
}

#[test]
fn a_failing_sink_is_tried_again() {
    let (may, written) = (Arc::default(), Arc::default());
    let (began, begun) = channel();
    let sink = Sink { may, began, written, fails: true };
    let queue = LogQueue::start(sink).unwrap();
    for _ in 0..3 {
        (&queue).write_all(b"line\n").unwrap();
        queue.flush(LONG);
        begun.recv().unwrap();
    }
}
