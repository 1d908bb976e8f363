//! No spans but the one that carries what handlers say: built without the feature `otel`.

use std::future::Future;

use tracing::Span;

use super::{Trace, TraceMode};
use crate::job::NewJob;
use crate::store::{ClaimedJob, Result};

pub(super) fn current() -> Trace {
    Trace::default()
}

pub(super) fn adopt(_: &Trace, _: &Span) {}

#[derive(Clone)]
pub(crate) struct Sending;

impl Sending {
    pub fn of(_: &NewJob) -> Sending {
        Sending
    }

    pub fn stamp(&self, _: &mut NewJob) {}

    pub fn alone(&self, _: &NewJob) {}

    pub fn counted(&self, _: usize) {}

    pub fn failed(&self, _: &impl std::fmt::Display) {}

    pub async fn around<T>(self, work: impl Future<Output = Result<T>>) -> Result<T> {
        work.await
    }
}

pub(crate) struct Received;

impl Received {
    pub fn new(_: &ClaimedJob, _: TraceMode) -> Received {
        Received
    }
}

pub(crate) fn run(job: &ClaimedJob, _: Received, _: TraceMode) -> Span {
    // As grave as can be, so that no filter by level hides it.
    tracing::error_span!(
        target: "longshore::run", "run", job = %job.id, kind = job.kind, attempt = job.attempt
    )
}

pub(crate) fn failed(_: &Span, _: &'static str, _: &str) {}

pub(crate) fn note(_: &Span, _: &'static str, _: &'static str) {}
