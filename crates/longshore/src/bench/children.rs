//! Other processes that work on the same database, from both ends: who starts them, and what they do.
//!
//! They talk in lines. To a child: `go`, and the end of its input, which stops it, so that none outlives
//! the benchmark. From a child: `open`, `ready`, `first` when its first job starts, `ended N` whenever N has grown,
//! `probe N MICROS` for each probe's start, and at its end `ran` with the numbers of its jobs.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::seen::{Seen, number_in};
use super::{KIND, PATIENCE, PROBE, QUEUE, Refused, worker_named};
use crate::client::Client;
use crate::worker::Run;

/// How often a child looks how many of its jobs ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What starts a child: a program that calls [`child`] on the same database.
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
        self.tell_go();
        self.each_says("ready").await
    }

    /// Starts their workers.
    pub fn tell_go(&mut self) {
        for input in self.running.iter_mut().filter_map(|child| child.input.as_mut()) {
            // One that is gone has ended its output, and that is heard.
            let _ = input.write_all(b"go\n").and_then(|()| input.flush());
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
fn note(said: &str, seen: &Seen) {
    let Some(numbers) = said.strip_prefix("ran") else { return };
    for part in numbers.split_whitespace() {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse(), last.parse()) {
            (first..=last).for_each(|number: usize| seen.saw(number, 1));
        }
    }
}

/// The same from the other end: what ran once in ranges, what ran more often once for each time.
fn ran(seen: &Seen, most: usize) -> String {
    let mut said = "ran".to_owned();
    let mut open: Option<usize> = None;
    for number in 0..=most {
        let times = seen.times(number);
        match (times, open) {
            (1, None) => open = Some(number),
            (1, Some(_)) => {}
            (_, Some(first)) => {
                said.push_str(&format!(" {first}-{}", number - 1));
                open = None;
            }
            (_, None) => {}
        }
        let again = if times > 1 { times } else { 0 };
        (0..again).for_each(|_| said.push_str(&format!(" {number}")));
    }
    match open {
        Some(first) => said + &format!(" {first}-{most}"),
        None => said,
    }
}

/// What a child does: works on the queue of the benchmark from the first line of its input until that
/// ends.
pub async fn child(client: &Client, slots: u32) -> Result<(), Refused> {
    let (tell, mut input) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    say("open");
    if input.recv().await.is_none() {
        return Ok(());
    }
    let seen = Seen::new(u32::MAX);
    let (jobs, most) = (Arc::clone(&seen), Arc::new(AtomicUsize::new(0)));
    let highest = Arc::clone(&most);
    let working = worker_named(client)
        .queue(QUEUE, slots)
        .handle(KIND, move |run: Run| {
            highest.fetch_max(number_in(run.payload()), Ordering::Relaxed);
            jobs.ran(&run);
            std::future::ready(())
        })
        .handle(PROBE, |run: Run| {
            say(&format!("probe {} {}", number_in(run.payload()), wall_us()));
            std::future::ready(())
        })
        .start()?;
    let (mut ready, mut first, mut ended) = (false, false, 0);
    loop {
        let health = working.health();
        if health.ready && !ready {
            ready = true;
            say("ready");
        }
        if seen.any() && !first {
            first = true;
            say("first");
        }
        if health.finished_total > ended {
            ended = health.finished_total;
            say(&format!("ended {ended}"));
        }
        // The end of its input, or whatever comes, stops it.
        if tokio::time::timeout(LOOK_EVERY, input.recv()).await.is_ok() {
            break;
        }
    }
    working.stop().await;
    say(&ran(&seen, most.load(Ordering::Relaxed)));
    Ok(())
}

/// To whoever started this process. If that is gone, the end of the input says so.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_child_ran_is_what_its_parent_hears() {
        let child = Seen::new(1);
        for number in [0, 1, 2, 5, 7, 7, 8, 8, 8, 9, 70_000] {
            child.saw(number, 1);
        }
        let said = ran(&child, 70_000);
        assert_eq!(said, "ran 0-2 5-5 7 7 8 8 8 9-9 70000-70000");
        let parent = Seen::new(1);
        note(&said, &parent);
        note("ended 12", &parent);
        assert!((0..=70_001).all(|number| parent.times(number) == child.times(number)));
    }
}
