//! Which handler runs which kind.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::run::Run;
use crate::job::{AttemptFault, IntoOutcome, JobError, Outcome};

type Answer = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What runs jobs of one kind.
#[derive(Clone)]
pub(super) enum Handler {
    /// Runs on the application's runtime; must not block it.
    Async(Arc<dyn Fn(Run) -> Answer + Send + Sync>),
    /// Runs on a thread of its own.
    Blocking(Arc<dyn Fn(Run) -> Outcome + Send + Sync>),
}

impl Handler {
    pub fn from_async<F, A>(handler: F) -> Handler
    where
        F: Fn(Run) -> A + Send + Sync + 'static,
        A: Future<Output: IntoOutcome> + Send + 'static,
    {
        Handler::Async(Arc::new(move |run| {
            let answer = handler(run);
            Box::pin(async move { answer.await.into_outcome() })
        }))
    }

    pub fn from_blocking<F, O>(handler: F) -> Handler
    where
        F: Fn(Run) -> O + Send + Sync + 'static,
        O: IntoOutcome,
    {
        Handler::Blocking(Arc::new(move |run| handler(run).into_outcome()))
    }
}

/// An attempt that failed and will be repeated, as a kind's own backoff is told of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// Attempts the job may have in all.
    pub max_attempts: u32,
    /// In which way: an error, or a panic.
    pub fault: AttemptFault,
    /// What the handler said, or the panic's text.
    pub error: &'a JobError,
}

/// How long a kind wants to wait after a failure; `None`: as the job's own policy says.
pub(super) type OwnBackoff = Arc<dyn Fn(&Failure<'_>) -> Option<Duration> + Send + Sync>;

/// Kind -> handler.
#[derive(Clone, Default)]
pub(super) struct Registry {
    handlers: HashMap<String, Handler>,
    backoffs: HashMap<String, OwnBackoff>,
}

impl Registry {
    /// The handler registered last for a kind wins.
    pub fn add(&mut self, kind: String, handler: Handler) {
        self.handlers.insert(kind, handler);
    }

    pub fn get(&self, kind: &str) -> Option<&Handler> {
        self.handlers.get(kind)
    }

    pub fn add_backoff(&mut self, kind: String, backoff: OwnBackoff) {
        self.backoffs.insert(kind, backoff);
    }

    pub fn backoff(&self, kind: &str) -> Option<&OwnBackoff> {
        self.backoffs.get(kind)
    }

    /// All kinds, sorted.
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self.handlers.keys().cloned().collect();
        kinds.sort_unstable();
        kinds
    }
}
