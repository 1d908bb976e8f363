//! A process and all that it started, until none of them is left.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::process::Signal;

use crate::process::{Group, command};

/// How long a program has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// How long its outputs are read once it is gone: something that left its process group may hold them open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Between two looks whether it ended; shorter ones first.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What is run.
pub(super) struct Program<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// Where it begins.
    pub folder: &'a Dir,
    /// What it reads.
    pub stdin: &'a str,
    /// Bytes that are kept of each output.
    pub keep: usize,
}

/// How it ended, and what it said.
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: Tail,
    pub stderr: Tail,
}

/// The last bytes of an output.
#[derive(Clone, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Program<'_> {
    /// Waits for the end of it; `None` if it was stopped.
    pub fn run<'e>(
        &self,
        variables: impl Iterator<Item = (&'e str, &'e str)>,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<Option<Ended>> {
        let mut group = Group::new(command(self.argv, self.folder, variables).spawn()?);
        let child = group.child();
        self.feed(child);
        let outputs =
            (follow(child.stdout.take(), self.keep), follow(child.stderr.take(), self.keep));
        let in_time = until_ended(&group, stopped);
        let status = group.end()?;
        let give_up = Instant::now() + LAST_WORDS;
        let (stdout, stderr) = (outputs.0.last(give_up), outputs.1.last(give_up));
        Ok(in_time?.then_some(Ended { status, stdout, stderr }))
    }

    /// In a thread: a program may never read, and end.
    fn feed(&self, child: &mut Child) {
        let Some(mut pipe) = child.stdin.take() else { return };
        if self.stdin.is_empty() {
            return;
        }
        let text = self.stdin.to_owned();
        std::thread::spawn(move || {
            let _ = pipe.write_all(text.as_bytes());
        });
    }
}

/// Whether it ended by itself; if not, it was told to, and is gone.
fn until_ended(group: &Group, stopped: &dyn Fn() -> bool) -> io::Result<bool> {
    let mut pause = Duration::from_millis(1);
    let mut told: Option<Instant> = None;
    loop {
        if group.has_ended()? {
            return Ok(told.is_none());
        }
        match told {
            None if stopped() => {
                group.signal(Signal::TERM);
                told = Some(Instant::now());
            }
            Some(at) if at.elapsed() >= GRACE => group.signal(Signal::KILL),
            _ => {}
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_EVERY);
    }
}

/// An output that is read in a thread of its own, so that the program never waits for us.
struct Followed {
    tail: Arc<Mutex<Tail>>,
    ended: Receiver<()>,
}

fn follow(pipe: Option<impl Read + Send + 'static>, keep: usize) -> Followed {
    let tail = Arc::new(Mutex::new(Tail::default()));
    let (end, ended) = channel();
    let into = Arc::clone(&tail);
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = [0; 8_192];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            into.lock().expect("nobody panics holding it").add(&buffer[..read], keep);
        }
        let _ = end.send(());
    });
    Followed { tail, ended }
}

impl Followed {
    fn last(self, give_up: Instant) -> Tail {
        let _ = self.ended.recv_timeout(give_up.saturating_duration_since(Instant::now()));
        self.tail.lock().expect("nobody panics holding it").clone()
    }
}

impl Tail {
    fn add(&mut self, bytes: &[u8], keep: usize) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(keep);
        self.bytes.drain(..over);
        self.dropped += over as u64;
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// As text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}
