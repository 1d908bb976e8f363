//! Which handler runs which kind.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::decoders::{Decoder, Decoders};
use super::run::Run;
use crate::extract::Given;
use crate::handler::{self, Call, DecodeCheck};
use crate::job::new::MAX_VERSION;
use crate::job::{AttemptFault, IntoOutcome, Job, JobError};
use crate::store::{ANY_VERSION, KindAsk, KnownKind};

/// What runs jobs of one kind.
#[derive(Clone)]
pub(super) struct Handler {
    pub call: Call,
    /// It runs on a thread of its own; otherwise on the application's runtime, which it must not block.
    pub blocks: bool,
    /// The greatest version of a payload that it decodes.
    pub version: u32,
    /// `None`: it takes payloads as they are.
    pub decodes: Option<DecodeCheck>,
    /// Says what payloads look like, as a JSON Schema.
    pub schema: fn() -> Option<String>,
}

impl Handler {
    /// Of a typed job.
    pub fn typed<J: Job>(call: Call, blocks: bool) -> Handler {
        Handler {
            call,
            blocks,
            version: J::VERSION,
            decodes: Some(handler::check::<J>),
            schema: J::schema,
        }
    }

    pub fn from_async<F, A>(handler: F) -> Handler
    where
        F: Fn(Run) -> A + Send + Sync + 'static,
        A: Future<Output: IntoOutcome> + Send + 'static,
    {
        let call = Call::new(move |run| {
            let answer = handler(run);
            async move { answer.await.into_outcome() }
        });
        Handler { call, blocks: false, version: ANY_VERSION, decodes: None, schema: || None }
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
        Handler { call, blocks: true, version: ANY_VERSION, decodes: None, schema: || None }
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
    /// What is said of payloads beside what their types say.
    schemas: HashMap<String, String>,
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
        let unversioned = self
            .handlers
            .iter()
            .filter(|(_, handler)| !(1..=MAX_VERSION).contains(&handler.version))
            .map(|(kind, handler)| {
                format!(
                    "kind `{kind}` has VERSION {}; it may be 1 to {MAX_VERSION}",
                    handler.version
                )
            });
        self.checks.iter().filter_map(missing).chain(doubled).chain(unversioned).collect()
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

    pub fn add_schema(&mut self, kind: String, schema: String) {
        self.schemas.insert(kind, schema);
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

    /// What is asked of a claim, sorted by kind.
    pub fn asks(&self) -> Vec<KindAsk> {
        let ask = |kind: String| KindAsk { version: self.handlers[&kind].version, kind };
        self.kinds().into_iter().map(ask).collect()
    }

    /// What can be told of each, sorted by kind.
    pub fn known(&self) -> Vec<KnownKind> {
        let known = |kind: String| {
            let handler = &self.handlers[&kind];
            let version = Some(handler.version).filter(|version| *version != ANY_VERSION);
            // The application's own code: that it fails is no reason not to serve.
            let typed = || std::panic::catch_unwind(handler.schema).unwrap_or_default();
            let schema = self.schemas.get(&kind).cloned().or_else(typed);
            KnownKind { name: kind, version, schema }
        };
        self.kinds().into_iter().map(known).collect()
    }

    pub fn decoders(&self) -> Decoders {
        let decoder =
            |handler: &Handler| Decoder { version: handler.version, check: handler.decodes };
        let kinds = self.handlers.iter().map(|(kind, handler)| (kind.clone(), decoder(handler)));
        Decoders { kinds: kinds.collect() }
    }
}
