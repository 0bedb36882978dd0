//! A command in a terminal: its screen, and keys to press.

use super::super::process::WAIT_LIMIT;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};

use pty_process::blocking::Pty;

/// More rows than real terminals have, so that nothing scrolls away.
const ROWS: u16 = 200;

pub(super) struct Terminal {
    child: Child,
    pty: Pty,
    output: Arc<TerminalOutput>,
}

/// The command's output so far.
struct TerminalOutput {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Terminal {
    pub(super) fn start(command: Command, columns: u16) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(ROWS, columns)).unwrap();
        let mut reader =
            std::fs::File::from(std::os::fd::AsFd::as_fd(&pty).try_clone_to_owned().unwrap());
        let command = pty_process::blocking::Command::from(command);
        let child = command.spawn(pts).unwrap();
        let rows = NonZero::new(ROWS).unwrap();
        let state = State {
            parser: vt100::Parser::new(rows, NonZero::new(columns).unwrap(), 0),
            bytes: Vec::new(),
            has_ended: false,
        };
        let output = Arc::new(TerminalOutput { state: Mutex::new(state), changed: Condvar::new() });
        let seer = output.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // Reading fails once the other end is closed.
                let n = reader.read(&mut buffer).unwrap_or(0);
                let mut state = seer.state.lock().unwrap();
                state.parser.process(&buffer[..n]);
                state.bytes.extend_from_slice(&buffer[..n]);
                state.has_ended = n == 0;
                seer.changed.notify_all();
                if n == 0 {
                    return;
                }
            }
        });
        Self { child, pty, output }
    }

    /// Waits until the screen satisfies `is_so`, and returns it.
    pub(super) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let state = self.output.state.lock().unwrap();
        let is_waiting = |state: &mut State| !is_so(&screen(state)) && !state.has_ended;
        let changed = &self.output.changed;
        let (state, _) = changed.wait_timeout_while(state, WAIT_LIMIT, is_waiting).unwrap();
        let screen = screen(&state);
        assert!(is_so(&screen), "waited in vain for {what}:\n{screen}");
        screen
    }

    pub(super) fn press(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the command ends: the last screen, and the exit code.
    pub(super) fn finish(mut self) -> (String, i32) {
        let screen = {
            let state = self.output.state.lock().unwrap();
            let is_waiting = |state: &mut State| !state.has_ended;
            let changed = &self.output.changed;
            let (state, _) = changed.wait_timeout_while(state, WAIT_LIMIT, is_waiting).unwrap();
            assert!(state.has_ended, "it doesn't end:\n{}", screen(&state));
            screen(&state)
        };
        (screen, self.child.wait().unwrap().code().unwrap())
    }

    /// Waits until the command ends: everything that it wrote, and the exit code.
    pub(super) fn finish_raw(self) -> (String, i32) {
        let output = self.output.clone();
        let (_, code) = self.finish();
        let state = output.state.lock().unwrap();
        (String::from_utf8(state.bytes.clone()).unwrap(), code)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn screen(state: &State) -> String {
    state.parser.screen().contents().trim_end().to_owned()
}
