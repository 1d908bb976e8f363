//! Other processes that work on the same database, from the end that starts them; `child.rs` is the other.
//!
//! They talk in lines. To a child: `go`, or `loop` for the floor, and the end of its input, which stops it, so that
//! none outlives the benchmark. From a child: `open`, `ready`, `first` when its first job starts, `ended N` whenever N
//! has grown, `probe N MICROS` for each probe's start, and at its end `ran` with the numbers of its jobs.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::seen::Seen;
use super::{PATIENCE, Refused};

/// To a child: start a worker.
pub(super) const GO: &str = "go";
/// To a child: claim and finish, one after the other, without a worker.
pub(super) const LOOP: &str = "loop";

/// What starts a child: a program that calls [`child`](super::child()) on the same database.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Now, by a clock that processes of one machine share; microseconds.
pub(super) fn wall_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros() as u64)
}

/// Children that were started. Dropped, they are ended.
pub(super) struct Children {
    running: Vec<Child>,
    lines: UnboundedReceiver<Line>,
}

struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
}

/// What a child said.
pub(super) struct Line {
    pub child: usize,
    pub at: Instant,
    /// `None`: it says nothing more.
    pub said: Option<String>,
}

impl Children {
    /// Starts so many and waits until each has opened the database.
    pub async fn start(program: Option<&Program>, count: u32) -> Result<Children, Refused> {
        let program = program.ok_or_else(|| {
            Refused::Process("no other process can open this database".to_owned())
        })?;
        let (tell, lines) = unbounded_channel();
        let mut running = Vec::new();
        for child in 0..count as usize {
            let started = Command::new(&program.path)
                .args(&program.args)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            let mut process = started.map_err(|error| {
                let path = program.path.display();
                Refused::Process(format!("could not start {path}: {error}"))
            })?;
            let (input, output) = (process.stdin.take(), process.stdout.take());
            running.push(Child { process, input });
            let tell = tell.clone();
            std::thread::spawn(move || {
                let output = output.expect("its output is ours");
                let lines = BufReader::new(output).lines().map_while(Result::ok).map(Some);
                for said in lines.chain([None]) {
                    // Nobody waits for what a child says at the end of a benchmark that failed.
                    let _ = tell.send(Line { child, at: Instant::now(), said });
                }
            });
        }
        let mut children = Children { running, lines };
        children.each_says("open").await?;
        Ok(children)
    }

    /// Starts their workers, and waits until each claims.
    pub async fn go(&mut self) -> Result<(), Refused> {
        self.tell(GO);
        self.each_says("ready").await
    }

    /// [`GO`] or [`LOOP`].
    pub fn tell(&mut self, word: &str) {
        for input in self.running.iter_mut().filter_map(|child| child.input.as_mut()) {
            // One that is gone has ended its output, and that is heard.
            let _ = writeln!(input, "{word}").and_then(|()| input.flush());
        }
    }

    async fn each_says(&mut self, word: &str) -> Result<(), Refused> {
        let mut missing = self.running.len();
        while missing > 0 {
            if self.next().await?.said.as_deref() == Some(word) {
                missing -= 1;
            }
        }
        Ok(())
    }

    /// What one of them says next; refused if it ended.
    pub async fn next(&mut self) -> Result<Line, Refused> {
        let line = self.any().await?;
        if line.said.is_none() {
            let words = "a process of the benchmark ended before it was told to";
            return Err(Refused::Process(words.to_owned()));
        }
        Ok(line)
    }

    async fn any(&mut self) -> Result<Line, Refused> {
        let heard = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
        heard.ok().flatten().ok_or_else(|| {
            let words = format!("no process said anything for {} s", PATIENCE.as_secs());
            Refused::Process(words)
        })
    }

    /// Stops them; which jobs they ran.
    pub async fn stop(mut self, seen: &Seen) -> Result<(), Refused> {
        self.running.iter_mut().for_each(|child| child.input = None);
        let mut talking = self.running.len();
        while talking > 0 {
            match self.any().await?.said {
                None => talking -= 1,
                Some(said) => note(&said, seen),
            }
        }
        for child in &mut self.running {
            let ended = child.process.wait();
            if !ended.is_ok_and(|status| status.success()) {
                return Err(Refused::Process("a process of the benchmark failed".to_owned()));
            }
        }
        Ok(())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.running {
            // Each may have ended by itself.
            let _ = child.process.kill();
            let _ = child.process.wait();
        }
    }
}

/// The numbers of a line `ran 0-99 200 200`.
pub(super) fn note(said: &str, seen: &Seen) {
    let Some(numbers) = said.strip_prefix("ran") else { return };
    for part in numbers.split_whitespace() {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse(), last.parse()) {
            (first..=last).for_each(|number: usize| seen.saw(number, 1));
        }
    }
}
