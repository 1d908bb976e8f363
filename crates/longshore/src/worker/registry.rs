//! Which handler runs which kind.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::run::Run;
use crate::extract::Given;
use crate::handler::Call;
use crate::job::{AttemptFault, IntoOutcome, Job, JobError};

/// What runs jobs of one kind.
#[derive(Clone)]
pub(super) struct Handler {
    pub call: Call,
    /// It runs on a thread of its own; otherwise on the application's runtime, which it must not block.
    pub blocks: bool,
}

impl Handler {
    pub fn from_async<F, A>(handler: F) -> Handler
    where
        F: Fn(Run) -> A + Send + Sync + 'static,
        A: Future<Output: IntoOutcome> + Send + 'static,
    {
        let call = Call::new(move |run| {
            let answer = handler(run);
            async move { answer.await.into_outcome() }
        });
        Handler { call, blocks: false }
    }

    pub fn from_blocking<F, O>(handler: F) -> Handler
    where
        F: Fn(Run) -> O + Send + Sync + 'static,
        O: IntoOutcome,
    {
        let handler = Arc::new(handler);
        let call = Call::new(move |run| {
            let handler = Arc::clone(&handler);
            async move { handler(run).into_outcome() }
        });
        Handler { call, blocks: true }
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

/// Asks what is missing for a handler's arguments.
pub(super) type Check = fn(&Given<'_>) -> Result<(), String>;

/// Kind -> handler.
#[derive(Clone, Default)]
pub(super) struct Registry {
    handlers: HashMap<String, Handler>,
    backoffs: HashMap<String, OwnBackoff>,
    /// What typed handlers need, by kind.
    checks: Vec<(&'static str, Check)>,
    /// Kinds that two typed handlers want.
    doubled: Vec<&'static str>,
}

impl Registry {
    /// The handler registered last for a kind wins.
    pub fn add(&mut self, kind: String, handler: Handler) {
        self.handlers.insert(kind, handler);
    }

    /// A typed one, with the kind's own backoff, under all its names.
    pub fn add_typed<J: Job>(&mut self, handler: Handler, check: Check) {
        for kind in std::iter::once(&J::KIND).chain(J::ALIASES) {
            if self.checks.iter().any(|(known, _)| known == kind) {
                self.doubled.push(kind);
            }
            self.checks.push((kind, check));
            self.backoffs.insert((*kind).to_owned(), Arc::new(J::backoff));
            self.add((*kind).to_owned(), handler.clone());
        }
    }

    /// Everything that typed handlers lack, or want twice.
    pub fn faults(&self, given: &Given<'_>) -> Vec<String> {
        let missing = |(kind, check): &(&'static str, Check)| {
            check(given)
                .err()
                .map(|fault| format!("the handler of `{kind}` needs what it is not given: {fault}"))
        };
        let doubled = self.doubled.iter().map(|kind| format!("kind `{kind}` has two handlers"));
        self.checks.iter().filter_map(missing).chain(doubled).collect()
    }

    /// Puts something around every handler.
    pub fn wrap(&mut self, around: impl Fn(Call) -> Call) {
        for handler in self.handlers.values_mut() {
            handler.call = around(handler.call.clone());
        }
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
