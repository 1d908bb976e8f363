//! What a run says while it runs: how far it is, and log lines.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::job::{Invalid, Problem, text};
use crate::time::Timestamp;

use super::ending::Held;

/// The most bytes of a progress' text; longer ones are cut.
pub const MAX_PROGRESS_BYTES: usize = 255;
/// The most bytes of one log line, as it is kept; longer ones are cut.
pub const MAX_LINE_BYTES: usize = 8 * 1024;
/// Of an attempt so many lines are kept, the newest.
pub const MAX_LOG_LINES: usize = 1_000;
/// Of an attempt so many bytes of log are kept, the newest.
pub const MAX_LOG_BYTES: usize = 256 * 1024;
/// Logs of so many attempts of a job are kept, the newest.
pub const MAX_LOG_ATTEMPTS: u32 = 10;
/// The most lines of one page.
pub const MAX_LOG_PAGE: u32 = 1_000;

/// What goes into the database together: small enough that the oldest go a little at a time.
const PART_LINES: usize = 250;
const PART_BYTES: usize = MAX_LOG_BYTES / 4;
/// Fields of a line above this are left out.
const MAX_FIELDS_BYTES: usize = 4 * 1024;
const MAX_TARGET_BYTES: usize = 255;

/// How far a run is: a share of the whole, and a word about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    fraction: f64,
    text: String,
}

impl Progress {
    /// `fraction` is 0 to 1; anything else, and what is no number, is refused ([`Problem::NotAFraction`]).
    /// Of the text, control characters become spaces, and what is above [`MAX_PROGRESS_BYTES`] is cut off.
    pub fn new(fraction: f64, text: &str) -> Result<Progress, Invalid> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Invalid::new("progress", Problem::NotAFraction { value: fraction }));
        }
        // Cut first: the text may be of any size.
        let text = text::fit(text, MAX_PROGRESS_BYTES);
        let text = text.replace(char::is_control, " ");
        // Some control characters take two bytes, none less than a space: it only gets shorter.
        Ok(Progress { fraction, text })
    }

    /// From 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// A word about it; may be empty.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What a job said last of how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressRow {
    /// In which attempt.
    pub attempt: u32,
    /// From 0 to 1.
    pub fraction: f64,
    /// A word about it; may be empty.
    pub text: String,
    /// When it was written.
    pub at: Timestamp,
}

/// How grave a log line is. The gravest is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// What one wants to know.
    Info,
    /// What one wants to know while looking for a fault.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Not one of the levels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no level; it may be error, warn, info, debug or trace")]
pub struct UnknownLevel(String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Level, UnknownLevel> {
        let all = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
        let found = all.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(word));
        found.ok_or_else(|| UnknownLevel(crate::job::name::shown(&text::fit(word, 100))))
    }
}

/// One log line, fitted: ready to be written.
#[derive(Clone, Debug)]
pub struct LogLine {
    json: String,
}

/// A line as it is kept: time, level, target, message, fields.
type Kept<'a> = (i64, Level, String, String, Option<&'a RawValue>);

impl LogLine {
    /// All of it together is cut at [`MAX_LINE_BYTES`]: fields above 4 KiB are left out, then the message is
    /// cut.
    pub fn new(
        at: Timestamp,
        level: Level,
        target: &str,
        message: &str,
        fields: &serde_json::Map<String, serde_json::Value>,
    ) -> LogLine {
        let fields = fields_json(fields);
        let target = text::fit(target, MAX_TARGET_BYTES);
        let line = |message: &str| {
            let message = text::fit(message, MAX_LINE_BYTES);
            let line = (at.as_micros(), level, &target, message, fields.as_deref());
            serde_json::to_string(&line).expect("texts and numbers are JSON")
        };
        // What JSON writes as an escape is longer than it was.
        let mut message = &message[..message.floor_char_boundary(MAX_LINE_BYTES + 1)];
        let mut json = line(message);
        while json.len() > MAX_LINE_BYTES {
            let share = message.len() * MAX_LINE_BYTES / json.len();
            let most = share.min(message.len().saturating_sub(64));
            let cut = text::fit(message, most);
            message = &message[..message.floor_char_boundary(most)];
            json = line(&cut);
        }
        LogLine { json }
    }

    /// Bytes of it, as it is kept.
    pub fn size_bytes(&self) -> usize {
        self.json.len()
    }
}

fn fields_json(fields: &serde_json::Map<String, serde_json::Value>) -> Option<Box<RawValue>> {
    if fields.is_empty() {
        return None;
    }
    let mut json = serde_json::to_string(fields).expect("a map of values is JSON");
    if json.len() > MAX_FIELDS_BYTES {
        json = format!(r#"{{"longshore":"fields left out","size_bytes":{}}}"#, json.len());
    }
    RawValue::from_string(json).ok()
}

/// Lines that are written together.
#[derive(Clone, Debug)]
pub struct LogPart {
    pub(crate) run: i64,
    pub(crate) nth: i64,
    pub(crate) left_out: i64,
    pub(crate) count: i64,
    pub(crate) lines: String,
}

impl LogPart {
    /// As many of the waiting lines as go together, at least one; `None` if there are none. `run` tells this
    /// run from all others, `nth` is the first line's number in it, from 0; `left_out` lines before that
    /// could not be kept.
    pub fn take(
        run: i64,
        nth: u64,
        left_out: u64,
        waiting: &mut VecDeque<LogLine>,
    ) -> Option<LogPart> {
        let mut lines = String::new();
        let mut count = 0;
        while let Some(next) = waiting.front() {
            let full = count == PART_LINES || lines.len() + next.json.len() + 2 > PART_BYTES;
            if full && count > 0 {
                break;
            }
            lines.push(if count == 0 { '[' } else { ',' });
            lines.push_str(&next.json);
            count += 1;
            waiting.pop_front();
        }
        if count == 0 {
            return None;
        }
        lines.push(']');
        let (nth, left_out, count) = (nth as i64, left_out as i64, count as i64);
        Some(LogPart { run, nth, left_out, count, lines })
    }

    /// How many lines.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Whether so many lines are enough for one.
    pub(crate) fn is_full(lines: usize, bytes: usize) -> bool {
        lines >= PART_LINES || bytes >= PART_BYTES
    }

    /// The first line's number in its run.
    pub(crate) fn nth(&self) -> i64 {
        self.nth
    }

    /// How many lines before them are not there.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out as u64
    }

    /// One before it gave way.
    pub(crate) fn add_left_out(&mut self, gone: &LogPart) {
        self.left_out += gone.left_out + gone.count;
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.lines.len()
    }
}

/// What one run said since the last time.
#[derive(Clone, Debug)]
pub struct Saying {
    /// Which run.
    pub held: Held,
    /// How far it is, if it said so.
    pub progress: Option<Progress>,
    /// Its lines, if there are any.
    pub log: Option<LogPart>,
}

/// The answer for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is kept.
    Kept,
    /// The lease is somebody else's or nobody's by now; nothing was written.
    LeaseLost,
}

/// A place in a job's log: after the lines of earlier attempts, and after this line of its own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct LogPlace {
    /// The attempt.
    pub attempt: u32,
    /// The number of the line in it, from 1.
    pub line: u64,
}

/// Which lines of a job's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogQuery {
    /// Of this attempt alone. Default: of all.
    pub attempt: Option<u32>,
    /// This grave or graver. Default: all.
    pub level: Level,
    /// Those after this place. Default: from the start.
    pub after: LogPlace,
    /// How many at most, 1 to [`MAX_LOG_PAGE`]; beyond is cut. Default 200.
    pub limit: u32,
}

impl Default for LogQuery {
    fn default() -> Self {
        LogQuery { attempt: None, level: Level::Trace, after: LogPlace::default(), limit: 200 }
    }
}

/// One line of a job's log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogRow {
    /// Where it stands.
    #[serde(flatten)]
    pub place: LogPlace,
    /// So many lines before it are not there: they came faster than they could be written, or gave way to
    /// newer ones.
    pub left_out: u64,
    /// When it was said, by the clock of the machine that ran the job.
    pub at: Timestamp,
    /// How grave it is.
    pub level: Level,
    /// Which part of the program said it.
    pub target: String,
    /// What was said.
    pub message: String,
    /// With which values: a JSON object.
    pub fields: Option<Box<RawValue>>,
}

/// Some lines of a job's log.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LogPage {
    /// In their order.
    pub lines: Vec<LogRow>,
    /// Where the next page goes on: after all that was looked at for this one.
    pub next: LogPlace,
    /// Whether there is more by now.
    pub more: bool,
}

/// Lines as they lie together.
pub(crate) struct Chunk {
    pub attempt: u32,
    pub first: u64,
    pub count: u64,
    pub lines: String,
}

/// Rows that one page reads at most; a whole log is 2.5 MiB.
pub(crate) const MAX_CHUNKS: usize = 256;

impl LogPage {
    /// The lines of these chunks that are asked for. `chunks` begins where the query says; if there are
    /// [`MAX_CHUNKS`], there may be more.
    pub(crate) fn of(query: &LogQuery, chunks: &[Chunk]) -> LogPage {
        let limit = query.limit.clamp(1, MAX_LOG_PAGE) as usize;
        let mut page = LogPage { lines: Vec::new(), next: query.after, more: false };
        let mut left_out = 0;
        for chunk in chunks {
            if chunk.attempt != page.next.attempt {
                page.next = LogPlace { attempt: chunk.attempt, line: 0 };
                left_out = 0;
            }
            left_out += (chunk.first - 1).saturating_sub(page.next.line);
            // What another program wrote and this one cannot read is not there, as far as it can tell.
            let lines: Vec<Option<Kept<'_>>> =
                match serde_json::from_str::<Vec<&RawValue>>(&chunk.lines) {
                    Ok(lines) => {
                        lines.iter().map(|line| serde_json::from_str(line.get()).ok()).collect()
                    }
                    Err(_) => std::iter::repeat_with(|| None).take(chunk.count as usize).collect(),
                };
            for (line, kept) in (chunk.first..).zip(lines) {
                if line <= page.next.line {
                    continue;
                }
                if page.lines.len() == limit {
                    page.more = true;
                    return page;
                }
                page.next.line = line;
                match kept {
                    None => left_out += 1,
                    Some((.., level, _, _, _)) if level > query.level => {}
                    Some((at, level, target, message, fields)) => {
                        page.lines.push(LogRow {
                            place: page.next,
                            left_out: std::mem::take(&mut left_out),
                            at: Timestamp::from_micros(at),
                            level,
                            target,
                            message,
                            fields: fields.map(ToOwned::to_owned),
                        });
                    }
                }
            }
        }
        page.more = chunks.len() == MAX_CHUNKS;
        page
    }
}
