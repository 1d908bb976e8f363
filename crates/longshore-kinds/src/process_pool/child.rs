//! One process, as long as it lives.
//!
//! One task hears it: answers, the log, its end. Another one feeds it, so that a process which writes before it reads never
//! waits for us while we wait for it.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::process::{PidfdFlags, Signal, pidfd_open};
use serde_json::value::RawValue;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::lines::{Line, Lines};
use super::protocol::{Answer, cut, reply};
use super::{PoolConfig, Said};
use crate::error::KindError;
use crate::process::{Group, command};
use crate::secret::Masker;

/// How long the outputs of one that has ended are read: something that left its group may hold them open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Longer lines of its standard error are cut.
const STDERR_LINE: usize = 8 << 10;
/// So much of its last error line stands in the error of the jobs that it took with it.
const ERROR_BYTES: usize = 1_024;

/// A question, and where the answer goes.
pub(super) struct Ask {
    pub id: String,
    pub line: Vec<u8>,
    pub said: Said,
    pub answer: oneshot::Sender<Result<Box<RawValue>, KindError>>,
}

/// A process that may be asked.
pub(super) struct Child {
    asks: mpsc::UnboundedSender<Ask>,
    shared: Arc<Shared>,
}

/// What both sides know.
struct Shared {
    group: Mutex<Group>,
    /// It was killed on purpose: what it leaves undone is no fault of its own.
    killed: AtomicBool,
    /// It was told to end, and has a moment for it.
    told: AtomicBool,
    /// It has given a good answer at least once.
    answered: AtomicBool,
    ended_at: Mutex<Option<Instant>>,
}

impl Child {
    /// Starts it.
    pub fn start(config: &PoolConfig, folder: &Dir, masker: &Masker) -> io::Result<Child> {
        let variables = config.env.iter().map(|(name, value)| (&**name, &**value));
        let mut group = Group::new(command(&config.argv, folder, variables).spawn()?);
        let ended = watched(pidfd_open(group.pid(), PidfdFlags::empty())?)?;
        let child = group.child();
        let taken = "they are pipes, and nobody has taken them";
        let stdin = pipe::Sender::from_owned_fd(child.stdin.take().expect(taken).into())?;
        let stdout = pipe::Receiver::from_owned_fd(child.stdout.take().expect(taken).into())?;
        let stderr = pipe::Receiver::from_owned_fd(child.stderr.take().expect(taken).into())?;
        let shared = Arc::new(Shared {
            group: Mutex::new(group),
            killed: AtomicBool::new(false),
            told: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            ended_at: Mutex::new(None),
        });
        let (asks, asked) = mpsc::unbounded_channel();
        let (lines, to_write) = mpsc::unbounded_channel();
        tokio::spawn(feed(stdin, to_write, Arc::clone(&shared)));
        let heard = Heard {
            shared: Arc::clone(&shared),
            masker: masker.clone(),
            line_bytes: config.line_bytes,
            pending: HashMap::new(),
            last_error: String::new(),
            fault: None,
        };
        tokio::spawn(heard.live(stdout, stderr, ended, asked, lines));
        Ok(Child { asks, shared })
    }

    /// Hands it a question; `false` if it has ended.
    pub fn ask(&self, ask: Ask) -> bool {
        self.asks.send(ask).is_ok()
    }

    /// Whether it may be asked.
    pub fn is_alive(&self) -> bool {
        !self.asks.is_closed() && !self.shared.killed.load(Ordering::SeqCst) && !self.has_ended()
    }

    /// Ends it and all that it started.
    pub fn kill(&self) {
        self.shared.kill();
    }

    /// Tells it to end.
    pub fn ask_to_end(&self) {
        self.shared.told.store(true, Ordering::SeqCst);
        self.shared.group().signal(Signal::TERM);
    }

    /// Whether it has.
    pub fn has_ended(&self) -> bool {
        self.shared.group().has_ended().unwrap_or(true)
    }

    /// Of one that has ended: when it did so by itself, and whether it had ever answered; `None` if it was killed.
    pub fn failed(&self) -> Option<(Instant, bool)> {
        let at = *self.shared.ended_at.lock().expect("nobody panics holding it");
        let by_itself = !self.shared.killed.load(Ordering::SeqCst);
        let at = at.unwrap_or_else(Instant::now);
        by_itself.then(|| (at, self.shared.answered.load(Ordering::SeqCst)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Its tasks go with the last handle of the runtime, not with this; the process goes now.
        let _ = self.shared.group().end();
    }
}

impl Shared {
    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().expect("nobody panics holding it")
    }

    fn on_purpose(&self) -> bool {
        [&self.killed, &self.told].iter().any(|flag| flag.load(Ordering::SeqCst))
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        self.group().signal(Signal::KILL);
    }
}

/// Ready as soon as the process has ended.
#[expect(
    deprecated,
    reason = "its successor is unsafe, for handles that change; an owned one does not"
)]
fn watched(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(process, Interest::READABLE)
}

/// Writes what is asked. A process that does not read any more is of no use.
async fn feed(
    mut stdin: pipe::Sender,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    shared: Arc<Shared>,
) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return shared.group().signal(Signal::KILL);
        }
    }
}

struct Pending {
    said: Said,
    answer: oneshot::Sender<Result<Box<RawValue>, KindError>>,
}

/// What is heard of a process.
struct Heard {
    shared: Arc<Shared>,
    masker: Masker,
    line_bytes: usize,
    /// By the job's id.
    pending: HashMap<String, Pending>,
    last_error: String,
    /// What it did that is against the rules, if anything.
    fault: Option<String>,
}

impl Heard {
    /// Until it has ended.
    async fn live(
        mut self,
        mut stdout: pipe::Receiver,
        mut stderr: pipe::Receiver,
        ended: AsyncFd<OwnedFd>,
        mut asked: mpsc::UnboundedReceiver<Ask>,
        lines: mpsc::UnboundedSender<Vec<u8>>,
    ) {
        let (mut out, mut errors) = (Lines::default(), Lines::default());
        let (mut out_open, mut errors_open) = (true, true);
        let (mut buffer, mut error_buffer) = ([0; 16_384], [0; 4_096]);
        // Errors first: what was said before an answer belongs to its job, even if the runtime knows only of the answer.
        while self.fault.is_none() && !self.shared.killed.load(Ordering::SeqCst) {
            tokio::select! {
                biased;
                read = stderr.read(&mut error_buffer), if errors_open => {
                    let read = read.unwrap_or(0);
                    errors_open = read > 0;
                    self.hear_errors(&mut errors, &error_buffer[..read]);
                }
                read = stdout.read(&mut buffer), if out_open => {
                    let read = read.unwrap_or(0);
                    out_open = read > 0;
                    self.hear_waiting_errors(&stderr, &mut errors);
                    self.hear(&mut out, &buffer[..read]);
                    if !out_open {
                        break;
                    }
                }
                _ = ended.readable() => break,
                ask = asked.recv() => match ask {
                    Some(ask) => self.take(ask, &lines),
                    None => break, // nobody can ask any more
                },
            }
        }
        // What it has left behind in its group goes with it, so that the pipes end. A moment later it is reaped; one that
        // closed its output has that moment to end by itself, and to say how.
        if !out_open {
            let _ = timeout(LAST_WORDS, ended.readable()).await;
        }
        let by_itself = self.shared.group().has_ended().unwrap_or(false);
        self.shared.group().signal(Signal::KILL);
        let _ = timeout(LAST_WORDS, async {
            self.drain(&mut stderr, &mut errors, errors_open, Heard::hear_errors).await;
            self.drain(&mut stdout, &mut out, out_open, Heard::hear).await;
        })
        .await;
        let status = self.shared.group().end();
        *self.shared.ended_at.lock().expect("nobody panics holding it") = Some(Instant::now());
        asked.close();
        let problem = match (self.fault.take(), status) {
            _ if self.shared.on_purpose() => {
                "its process was ended for another job that it had, or by its node".to_owned()
            }
            (Some(fault), _) => format!("its process {fault}"),
            (None, Ok(status)) if by_itself && self.last_error.is_empty() => {
                format!("its process ended: {status}")
            }
            (None, Ok(status)) if by_itself => {
                format!("its process ended: {status}: {}", self.last_error)
            }
            (None, _) if !out_open => "its process closed its standard output".to_owned(),
            (None, _) => "its process reads no more".to_owned(),
        };
        let late = std::iter::from_fn(|| asked.try_recv().ok()).map(|ask| ask.answer);
        for answer in self.pending.into_values().map(|one| one.answer).chain(late) {
            let problem = problem.clone();
            let _ = answer.send(Err(KindError::Process { problem, permanent: false }));
        }
    }

    /// What lies in the pipe by now, as much as a pipe holds.
    fn hear_waiting_errors(&mut self, stderr: &pipe::Receiver, lines: &mut Lines) {
        let mut buffer = [0; 4_096];
        for _ in 0..16 {
            let Ok(read @ 1..) = rustix::io::read(stderr, &mut buffer) else { return };
            self.hear_errors(lines, &buffer[..read]);
        }
    }

    async fn drain(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        lines: &mut Lines,
        open: bool,
        hear: fn(&mut Heard, &mut Lines, &[u8]),
    ) {
        let mut buffer = [0; 4_096];
        while open && let Ok(read @ 1..) = from.read(&mut buffer).await {
            hear(self, lines, &buffer[..read]);
        }
        if let Some(rest) = lines.rest() {
            hear(self, &mut Lines::default(), &[&rest[..], b"\n"].concat());
        }
    }

    fn take(&mut self, ask: Ask, lines: &mpsc::UnboundedSender<Vec<u8>>) {
        let Ask { id, line, said, answer } = ask;
        self.pending.insert(id, Pending { said, answer });
        // Without a reader it is about to end, and says so itself.
        let _ = lines.send(line);
    }

    /// What it says as answers.
    fn hear(&mut self, lines: &mut Lines, bytes: &[u8]) {
        let mut heard = Vec::new();
        lines.add(bytes, self.line_bytes, |line| heard.push(line));
        for line in heard {
            if self.fault.is_some() {
                return;
            }
            self.fault = match line {
                Line::Cut(_) => Some(format!("said a line of more than {} bytes", self.line_bytes)),
                Line::Whole(line) => self.answer(&line).err().map(|why| self.masker.text(&why)),
            };
        }
    }

    fn answer(&mut self, line: &[u8]) -> Result<(), String> {
        let reply = reply(line)?;
        let Some(pending) = self.pending.get(&reply.id) else {
            return Err("answered a job that it was not given".to_owned());
        };
        reply.log.iter().for_each(|line| (pending.said)(&self.masker.text(line)));
        let Some(answer) = reply.answer else { return Ok(()) };
        self.shared.answered.store(true, Ordering::SeqCst);
        let answer = match answer {
            Answer::Output(output) => Ok(self.masker.raw(output)),
            Answer::Error { words, retry } => {
                Err(KindError::Process { problem: self.masker.text(&words), permanent: !retry })
            }
        };
        if let Some(pending) = self.pending.remove(&reply.id) {
            let _ = pending.answer.send(answer);
        }
        Ok(())
    }

    /// What it says besides: a line for the log of each job that it has.
    fn hear_errors(&mut self, lines: &mut Lines, bytes: &[u8]) {
        let mut heard = Vec::new();
        lines.add(bytes, STDERR_LINE + self.masker.margin(), |line| heard.push(line));
        for line in heard {
            let (Line::Whole(line) | Line::Cut(line)) = line;
            let text = cut(self.masker.text(&String::from_utf8_lossy(&line)).trim_end());
            if text.is_empty() {
                continue;
            }
            self.pending.values().for_each(|pending| (pending.said)(&text));
            self.last_error = text[..text.floor_char_boundary(ERROR_BYTES)].to_owned();
        }
    }
}
