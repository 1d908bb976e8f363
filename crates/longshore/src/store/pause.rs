//! Pauses: of a queue or of a kind, with who, why and until when.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::job::name::MAX_NAME_BYTES;
use crate::job::new::{Due, check_name};
use crate::job::{Invalid, Problem, text};
use crate::time::Timestamp;

/// The most pauses there may be at a time.
pub const MAX_PAUSES: usize = 1_000;

/// What is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseScope {
    /// All jobs of a queue.
    Queue,
    /// All jobs of a kind, in whatever queue.
    Kind,
}

impl PauseScope {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseScope::Queue => "queue",
            PauseScope::Kind => "kind",
        }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn from_word(word: &str) -> PauseScope {
        if word == "kind" { PauseScope::Kind } else { PauseScope::Queue }
    }

    /// Refuses what can be no queue's or kind's name.
    pub(crate) fn check(self, name: &str) -> Result<(), Invalid> {
        check_name(self.as_str(), name)
    }
}

impl fmt::Display for PauseScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A pause that somebody asks for.
///
/// ```
/// use std::time::Duration;
/// use longshore::store::NewPause;
/// let pause = NewPause::queue("mail").why("the provider is down").lasting(Duration::from_secs(3_600));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "nothing is paused until it is handed to `Client::pause`"]
pub struct NewPause {
    /// A queue or a kind.
    pub scope: PauseScope,
    /// Its name; it need not have jobs yet.
    pub name: String,
    /// Who, in the caller's words. Cut at 255 bytes.
    pub by: Option<String>,
    /// Why. Cut at 8 KiB.
    pub why: Option<String>,
    pub(crate) end: Option<Due>,
}

impl NewPause {
    /// Of a queue, until somebody resumes it.
    pub fn queue(name: impl Into<String>) -> NewPause {
        NewPause::of(PauseScope::Queue, name)
    }

    /// Of a kind, until somebody resumes it.
    pub fn kind(name: impl Into<String>) -> NewPause {
        NewPause::of(PauseScope::Kind, name)
    }

    /// Of either, until somebody resumes it.
    pub fn of(scope: PauseScope, name: impl Into<String>) -> NewPause {
        NewPause { scope, name: name.into(), by: None, why: None, end: None }
    }

    /// Who asks.
    pub fn by(mut self, who: impl Into<String>) -> NewPause {
        self.by = Some(who.into());
        self
    }

    /// Why.
    pub fn why(mut self, why: impl Into<String>) -> NewPause {
        self.why = Some(why.into());
        self
    }

    /// It ends by itself at this time, which has to be ahead.
    pub fn until(mut self, end: Timestamp) -> NewPause {
        self.end = Some(Due::At(end));
        self
    }

    /// It ends by itself this long from now, by the store's clock.
    pub fn lasting(mut self, span: Duration) -> NewPause {
        self.end = Some(Due::In(span));
        self
    }

    /// The same, checked, with texts that fit and an end in the store's time.
    pub(crate) fn settled(self, now: Timestamp) -> Result<SetPause, Invalid> {
        self.scope.check(&self.name)?;
        let until = self.end.map(|end| end.at(now));
        if let Some(until) = until
            && until <= now
        {
            return Err(Invalid::new("until", Problem::Past { until, now }));
        }
        Ok(SetPause {
            scope: self.scope,
            name: self.name,
            by: self.by.map(|by| text::fit(&by, MAX_NAME_BYTES)),
            why: self.why.map(|why| text::fit(&why, text::MAX_ERROR_BYTES)),
            until,
        })
    }
}

/// A pause as it is set: checked, and its end is a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPause {
    /// A queue or a kind.
    pub scope: PauseScope,
    /// Its name.
    pub name: String,
    /// Who.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// A pause in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// A queue or a kind.
    pub scope: PauseScope,
    /// Its name.
    pub name: String,
    /// Who asked for it last.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// Since when. One that is set anew keeps it.
    pub since: Timestamp,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// What a claim saw of the pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausesSeen {
    /// Tells one set of pauses in force from another; 0 for none.
    pub mark: i64,
    /// When the first of them ends by itself.
    pub next_end: Option<Timestamp>,
}

/// What one step of emptying a queue did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptied {
    /// Jobs that are gone.
    pub removed: u64,
    /// Whether there may be more.
    pub more: bool,
}

/// Jobs that one step of emptying a queue takes: a few milliseconds for whoever waits to write.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const EMPTY_STEP: i64 = 1_000;
