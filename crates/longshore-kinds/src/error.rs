//! What can go wrong in a built-in kind, and whether another attempt could help.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use crate::http::{NoAnswer, NoConnection};
use crate::picture::Format;

/// Why a built-in kind did not do its work. The texts name the payload's field and the limit, never
/// anything outside the files folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KindError {
    /// A field of the payload has a value that cannot be used.
    #[error("`{field}` {problem}")]
    Payload {
        /// The payload's field.
        field: &'static str,
        /// What is wrong with it and what would be right.
        problem: Cow<'static, str>,
    },
    /// The payload's JSON is not of the kind's shape.
    #[error("`{field}` does not fit: {problem}")]
    Misfit {
        /// Where: `attachments[0].name`; `payload` for all of it.
        field: String,
        /// What is wrong there.
        problem: String,
    },
    /// A link on the way leads out of the files folder.
    #[error("`{field}` leads out of the files folder")]
    Outside {
        /// The payload's field.
        field: &'static str,
    },
    /// More bytes or pixels than allowed.
    #[error("`{field}` is too large: {found} {unit}, the limit is {limit}")]
    TooLarge {
        /// The payload's field.
        field: &'static str,
        /// How many there are.
        found: u64,
        /// What is counted: bytes, pixels, or pixels on a side.
        unit: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// The file is no picture, or of a format that is not even known by name.
    #[error("`{field}` is not a jpeg, png or webp image")]
    NotAnImage {
        /// The payload's field.
        field: &'static str,
    },
    /// The file is a picture of another format.
    #[error("`{field}` is a {found} image, only jpeg, png and webp can be read")]
    UnsupportedFormat {
        /// The payload's field.
        field: &'static str,
        /// The usual extension of the format found.
        found: &'static str,
    },
    /// The file starts like a picture but is cut off, damaged or uses what the decoder does not know.
    #[error("`{field}` cannot be decoded as {format}")]
    Undecodable {
        /// The payload's field.
        field: &'static str,
        /// What the file's first bytes say it is.
        format: Format,
        /// The decoder's complaint.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The result cannot be written in the format asked for.
    #[error("`output` cannot be encoded as {format}")]
    Unencodable {
        /// The format asked for.
        format: Format,
        /// The encoder's complaint.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no such file yet: whoever enqueued may still be writing it.
    #[error("`{field}` does not exist")]
    Missing {
        /// The payload's field.
        field: &'static str,
    },
    /// The system refused: disk full, no right to write, a broken disk.
    #[error("could not {doing} `{field}`")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The payload's field.
        field: &'static str,
        /// The system's complaint.
        source: io::Error,
    },
    /// A program ended, and not well.
    #[error("{}", exit_words(*status, said))]
    Exit {
        /// Its code, or the signal that killed it.
        status: std::process::ExitStatus,
        /// What it said last.
        said: String,
    },
    /// There is no answer: the address may not be spoken to, or nobody gave a whole one.
    #[error("`{field}` {problem}")]
    Unanswered {
        /// The payload's field with the address.
        field: &'static str,
        /// What happened. Says nothing of who is there.
        problem: String,
        /// Whether it may never be spoken to.
        refused: bool,
    },
    /// An answer that is none of 200 to 299.
    #[error("`{field}` answers {status}")]
    Answered {
        /// The payload's field with the address.
        field: &'static str,
        /// Its status.
        status: u16,
        /// Whether it says that this is for good: 410, or another address.
        permanent: bool,
    },
    /// Whoever is there asks to come later, which counts as no attempt.
    #[error("`{field}` asks to come again in {wait:?}")]
    ComeLater {
        /// The payload's field with the address.
        field: &'static str,
        /// How much later.
        wait: Duration,
    },
    /// A process that is kept running said no, or broke the rules, or ended.
    #[error("{problem}")]
    Process {
        /// What it said or did.
        problem: String,
        /// Whether it said that another attempt is of no use.
        permanent: bool,
    },
    /// The model that writes summaries has none, and may have one the next time.
    #[error("the model's endpoint {problem}")]
    Endpoint {
        /// What it did.
        problem: String,
    },
    /// A mail was not handed over.
    #[error("could not {doing}: {problem}")]
    Mail {
        /// The step that failed.
        doing: &'static str,
        /// What the server said, or what became of the connection.
        problem: String,
        /// Whether the server will never take this mail.
        permanent: bool,
    },
    /// The work stopped half-way because it was asked to; nothing was written.
    #[error("cancelled")]
    Cancelled,
}

impl KindError {
    /// A field has a value that cannot be used.
    pub(crate) fn payload(field: &'static str, problem: impl Into<Cow<'static, str>>) -> KindError {
        KindError::Payload { field, problem: problem.into() }
    }

    /// A request that got no answer.
    pub(crate) fn unanswered(field: &'static str, error: &NoAnswer) -> KindError {
        let refused =
            matches!(error, NoAnswer::Connection(NoConnection::Refused(_) | NoConnection::NoHost));
        KindError::Unanswered { field, problem: error.to_string(), refused }
    }

    /// Whether every further attempt would fail the same way, so that the job should be dead at
    /// once. `false` for [`KindError::Cancelled`] and [`KindError::ComeLater`] too, which are no failures: look for
    /// them first.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Payload { .. }
            | Self::Misfit { .. }
            | Self::Outside { .. }
            | Self::TooLarge { .. }
            | Self::NotAnImage { .. }
            | Self::UnsupportedFormat { .. }
            | Self::Undecodable { .. }
            | Self::Unencodable { .. } => true,
            Self::Unanswered { refused, .. } => *refused,
            Self::Answered { permanent, .. }
            | Self::Mail { permanent, .. }
            | Self::Process { permanent, .. } => *permanent,
            Self::Missing { .. }
            | Self::Io { .. }
            | Self::Exit { .. }
            | Self::Endpoint { .. }
            | Self::ComeLater { .. }
            | Self::Cancelled => false,
        }
    }
}

/// Refuses a number that is not from 1 to `max`.
pub(crate) fn in_range(field: &'static str, value: u32, max: u32) -> Result<(), KindError> {
    if (1..=max).contains(&value) {
        return Ok(());
    }
    Err(KindError::payload(field, format!("is {value}, it must be from 1 to {max}")))
}

/// Refuses more than `limit` of what `unit` counts.
pub(crate) fn at_most(
    field: &'static str,
    found: u64,
    unit: &'static str,
    limit: u64,
) -> Result<(), KindError> {
    if found <= limit { Ok(()) } else { Err(KindError::TooLarge { field, found, unit, limit }) }
}

/// A text of a stranger in a sentence of ours: its first characters, none of which can do anything.
pub(crate) fn shown(text: &str) -> String {
    shown_up_to(text, 64)
}

/// The same, with so many bytes at most.
pub(crate) fn shown_up_to(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for char in text.chars() {
        let printable = !char.is_control() && !matches!(char, '\u{2028}' | '\u{2029}');
        let piece = if printable { char.to_string() } else { char.escape_debug().to_string() };
        if shown.len() + piece.len() > most {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
    }
    shown
}

/// `exit status: 3: no such table`.
fn exit_words(status: std::process::ExitStatus, said: &str) -> String {
    if said.is_empty() { status.to_string() } else { format!("{status}: {said}") }
}
