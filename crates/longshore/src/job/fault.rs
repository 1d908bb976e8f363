//! What a handler's error means: mostly "try again", but it can say more.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use super::outcome::Outcome;
use super::text;

/// Any error, as handlers return them.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What went wrong in an attempt: a text, its causes (outermost first), and what it means for the job.
///
/// Any `std::error::Error` becomes one through `?` and means "try again". The others say so:
///
/// ```
/// use std::time::Duration;
/// use longshore::JobError;
/// # #[derive(Debug)] enum Smtp { Busy, NoSuchUser, Other(std::io::Error) }
/// fn judge(error: Smtp) -> JobError {
///     match error {
///         Smtp::Busy => JobError::throttled(Duration::from_secs(60)),
///         Smtp::NoSuchUser => JobError::dead("no such mailbox"),
///         Smtp::Other(error) => error.into(),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobError {
    pub(crate) message: String,
    pub(crate) chain: Vec<String>,
    meaning: Meaning,
}

/// What becomes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Meaning {
    #[default]
    Retry,
    Dead,
    Snooze(Duration),
    Throttled(Duration),
    Cancelled,
    Interrupted,
}

impl JobError {
    /// An error that is only a text. The attempt failed; it is repeated while attempts are left.
    pub fn new(message: impl Into<String>) -> JobError {
        JobError { message: message.into(), chain: Vec::new(), meaning: Meaning::Retry }
    }

    /// An error with all its causes. The attempt failed; it is repeated while attempts are left.
    pub fn from_error(error: &(dyn StdError + 'static)) -> JobError {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        // A chain may be a ring; its length is bounded where it is fitted.
        let causes = causes.take(100).filter(|cause| !cause.is::<Meant>());
        let chain = causes.map(ToString::to_string).collect();
        JobError { message: error.to_string(), chain, meaning: Meaning::Retry }
    }

    /// It will never work: the job is dead at once.
    pub fn dead(error: impl Into<BoxError>) -> JobError {
        JobError { meaning: Meaning::Dead, ..JobError::from_boxed(error.into()) }
    }

    /// Run again after this long; the attempt does not count and no error is kept.
    pub fn snooze(delay: Duration) -> JobError {
        JobError { meaning: Meaning::Snooze(delay), ..JobError::new("snoozed") }
    }

    /// Somebody (a rate limit, a busy server) said "later": run again after this long; the attempt
    /// does not count, but the hundredth time in a row does.
    pub fn throttled(delay: Duration) -> JobError {
        JobError { meaning: Meaning::Throttled(delay), ..JobError::new("throttled") }
    }

    /// Stop for good, as cancelled, not as dead.
    pub fn cancelled(why: impl Into<String>) -> JobError {
        JobError { meaning: Meaning::Cancelled, ..JobError::new(why) }
    }

    /// The handler broke off since it was told to stop: the job waits again as before and the attempt
    /// does not count. Said by a handler that nobody told to stop, it is a snooze of one second.
    pub fn interrupted() -> JobError {
        JobError { meaning: Meaning::Interrupted, ..JobError::new("interrupted") }
    }

    /// What it says.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What caused it, outermost first.
    pub fn chain(&self) -> &[String] {
        &self.chain
    }

    /// The same as a `std::error::Error`, for functions that return another error type (`anyhow`, say).
    /// What it means is found again when it reaches the runtime, also below other errors' texts.
    pub fn into_error(self) -> impl StdError + Send + Sync + 'static {
        Said(Meant(self))
    }

    pub(crate) fn from_boxed(error: BoxError) -> JobError {
        let causes = std::iter::successors(Some(&*error as &(dyn StdError + 'static)), |cause| {
            (*cause).source()
        });
        let meant = causes.take(100).find_map(|cause| cause.downcast_ref::<Meant>());
        match (meant, error.is::<Said>()) {
            (Some(Meant(meant)), true) => meant.clone(),
            (Some(Meant(meant)), false) => {
                JobError { meaning: meant.meaning, ..JobError::from_error(&*error) }
            }
            (None, _) => JobError::from_error(&*error),
        }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self.meaning {
            Meaning::Retry => Outcome::Failed(self),
            Meaning::Dead => Outcome::Dead(self),
            Meaning::Snooze(delay) => Outcome::Snooze(delay),
            Meaning::Throttled(delay) => Outcome::Throttled(delay),
            Meaning::Cancelled => Outcome::Cancel(self.message),
            Meaning::Interrupted => Outcome::Interrupted,
        }
    }

    pub(crate) fn fitted(self) -> JobError {
        let (message, chain) = text::fit_chain(&self.message, self.chain);
        JobError { message, chain, ..self }
    }
}

impl<E: StdError + 'static> From<E> for JobError {
    fn from(error: E) -> JobError {
        match (&error as &dyn std::any::Any).downcast_ref::<Said>() {
            Some(Said(Meant(meant))) => meant.clone(),
            None => JobError::from_error(&error),
        }
    }
}

impl From<JobError> for BoxError {
    fn from(error: JobError) -> BoxError {
        Box::new(error.into_error())
    }
}

/// A [`JobError`] on its way through an error type that wants a `std::error::Error`.
#[derive(Debug)]
struct Said(Meant);

/// Its own cause, so that it is found in chains whose links cannot be looked into.
#[derive(Debug)]
struct Meant(JobError);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0.message)
    }
}

impl StdError for Said {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for Meant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("while sending")]
    struct Sending(#[source] BoxError);

    #[test]
    fn what_an_error_means_is_found_again() {
        let dead = || JobError::dead("no such user");
        let boxed: BoxError = dead().into();
        assert_eq!(JobError::from_boxed(boxed), dead());
        assert_eq!(JobError::from(dead().into_error()), dead());
        let below = JobError::from_boxed(Box::new(Sending(dead().into())));
        assert_eq!(below.message(), "while sending");
        assert_eq!(below.chain(), ["no such user"]);
        assert!(matches!(below.into_outcome(), Outcome::Dead(_)));
        let text: BoxError = "plain".into();
        assert!(matches!(JobError::from_boxed(text).into_outcome(), Outcome::Failed(_)));
    }

    #[test]
    fn causes_stay() {
        let error = JobError::dead(Sending("closed".into()));
        assert_eq!((error.message(), error.chain()), ("while sending", &["closed".to_owned()][..]));
    }
}
