//! Exit codes, and the sentence before one.

use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;

use longshore::StoreError;
use longshore::job::Invalid;
use longshore::query::QueryError;
use longshore_server::problem::Problem;

use crate::print::visible;

/// How a command ended, for scripts. `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    Denied = 5,
    Unreachable = 6,
    TimedOut = 7,
    JobFailed = 8,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    pub exit: Exit,
    pub words: String,
    /// Lines below the words, as they are to be seen.
    pub below: Vec<String>,
    /// Whether the same call may succeed later without anybody doing anything.
    pub passes: bool,
    /// Which job of a call with several is to blame, counted from 0; the words do not say it.
    pub index: Option<usize>,
}

impl Failure {
    pub fn new(exit: Exit, words: impl Into<String>) -> Failure {
        Failure { exit, words: words.into(), below: Vec::new(), passes: false, index: None }
    }

    /// The command, or a setting, cannot work as given.
    pub fn usage(words: impl Display) -> Failure {
        Failure::new(Exit::Usage, words.to_string())
    }

    pub fn failed(words: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, words)
    }

    /// Nothing to say, and no fault: the reader of our output went away.
    pub fn reader_gone() -> Failure {
        Failure::new(Exit::Ok, "")
    }

    pub fn tell(&self) {
        if !self.words.is_empty() {
            eprintln!("error: {}", visible(&self.words));
            self.below.iter().for_each(|line| eprintln!("{}", visible(line)));
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let exit = match &error {
            StoreError::Invalid(_)
            | StoreError::Config(_)
            | StoreError::SharedMount { .. }
            | StoreError::OtherHost { .. }
            | StoreError::Cursor(_) => Exit::Usage,
            StoreError::NotFound(_) | StoreError::NoOperation(_) | StoreError::NoNode(_) => {
                Exit::NotFound
            }
            StoreError::Refused { .. }
            | StoreError::OperationRefused { .. }
            | StoreError::VersionChanged { .. }
            | StoreError::KeyHeld { .. }
            | StoreError::KeyReused { .. }
            | StoreError::Schema { .. }
            | StoreError::Checksum { .. }
            | StoreError::NotLeader => Exit::Conflict,
            StoreError::Unavailable { .. }
            | StoreError::KeyBusy
            | StoreError::NoDatabase { .. } => Exit::Unreachable,
            _ => Exit::Failed,
        };
        let passes = error.is_unavailable();
        Failure { passes, ..Failure::new(exit, with_causes(&error)) }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Failure {
        let mut failure = Failure::usage("the query cannot be read");
        failure.below = error.to_string().lines().map(str::to_owned).collect();
        failure
    }
}

/// What a body of the API says, and cannot mean.
impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::usage(problem.detail())
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Failure {
        Failure::usage(invalid)
    }
}

/// An error and what caused it, in one line. A cause that the text before it already says is left
/// out.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    for cause in causes.take(16).map(ToString::to_string) {
        if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}
