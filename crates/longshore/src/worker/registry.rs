//! Which handler runs which kind.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::run::Run;
use crate::job::{IntoOutcome, Outcome};

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

/// Kind -> handler.
#[derive(Clone, Default)]
pub(super) struct Registry(HashMap<String, Handler>);

impl Registry {
    /// The handler registered last for a kind wins.
    pub fn add(&mut self, kind: String, handler: Handler) {
        self.0.insert(kind, handler);
    }

    pub fn get(&self, kind: &str) -> Option<&Handler> {
        self.0.get(kind)
    }

    /// All kinds, sorted.
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self.0.keys().cloned().collect();
        kinds.sort_unstable();
        kinds
    }
}
