//! What a handler says while it runs: how far it is, and log lines.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::FromRun;
use crate::job::JobError;
use crate::store::{self, Level};
use crate::worker::{Book, Run};

/// Says how far the run is; people see it at once (`longshore jobs show`). Costs a write a second at most, however
/// often it is said, and the handler never waits for it.
///
/// ```
/// # use longshore::{Job, JobError, extract::Progress};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Resize { pages: u32 }
/// # impl Job for Resize { const KIND: &'static str = "resize"; type Output = (); }
/// async fn resize(job: Resize, progress: Progress) -> Result<(), JobError> {
///     for page in 0..job.pages {
///         // …
///         progress.set(f64::from(page + 1) / f64::from(job.pages), format!("page {} of {}", page + 1, job.pages));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Progress(Arc<Book>);

impl Progress {
    /// `fraction` is 0 to 1. What is none (NaN, 1.5) is not taken, and a warning in the job's log says so: no
    /// handler should fail for it. The text is cut at 255 bytes.
    pub fn set(&self, fraction: f64, text: impl AsRef<str>) {
        match store::Progress::new(fraction, text.as_ref()) {
            Ok(progress) => self.0.show(progress),
            Err(refused) => {
                self.0.line(Level::Warn, "longshore", &refused.to_string(), &Map::new());
            }
        }
    }
}

impl FromRun for Progress {
    async fn from_run(run: &Run) -> Result<Progress, JobError> {
        Ok(run.progress())
    }
}

impl Run {
    /// Says how far it is; see [`Progress`].
    pub fn progress(&self) -> Progress {
        Progress(Arc::clone(self.book()))
    }

    /// Its log; see [`Log`].
    pub fn log(&self) -> Log {
        Log(Arc::clone(self.book()))
    }
}

/// Adds lines to the log of the run, for handlers that do not use `tracing`. Each attempt has a log of its own,
/// of which the newest 1,000 lines are kept, in 256 KiB. Levels below [`crate::WorkerConfig::log_level`] are not
/// kept. The handler never waits: when the database is slow, lines are left out, and counted.
///
/// What is said here is the application's own: nothing in it is redacted.
#[derive(Clone)]
pub struct Log(Arc<Book>);

impl Log {
    /// Something failed.
    pub fn error(&self, message: impl AsRef<str>) {
        self.line(Level::Error, message);
    }

    /// Something is odd.
    pub fn warn(&self, message: impl AsRef<str>) {
        self.line(Level::Warn, message);
    }

    /// What one wants to know.
    pub fn info(&self, message: impl AsRef<str>) {
        self.line(Level::Info, message);
    }

    /// What one wants to know while looking for a fault.
    pub fn debug(&self, message: impl AsRef<str>) {
        self.line(Level::Debug, message);
    }

    /// Any line.
    pub fn line(&self, level: Level, message: impl AsRef<str>) {
        self.0.line(level, self.0.kind(), message.as_ref(), &Map::new());
    }

    /// A line with values beside it.
    pub fn with(
        &self,
        level: Level,
        message: impl AsRef<str>,
        fields: impl IntoIterator<Item = (impl Into<String>, impl Into<Value>)>,
    ) {
        if self.wants(level) {
            let fields = fields.into_iter().map(|(name, value)| (name.into(), value.into()));
            self.0.line(level, self.0.kind(), message.as_ref(), &fields.collect());
        }
    }

    /// Whether lines of this level are kept, for lines that cost something to make.
    pub fn wants(&self, level: Level) -> bool {
        self.0.wants(level)
    }
}

impl FromRun for Log {
    async fn from_run(run: &Run) -> Result<Log, JobError> {
        Ok(run.log())
    }
}
