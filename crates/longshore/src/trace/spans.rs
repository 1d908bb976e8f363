//! Spans for OpenTelemetry, made with `tracing`; whoever has a layer of `tracing-opentelemetry` exports them.
//!
//! `send` (producer) is around an enqueue, `receive` (client) from a claim's answer to the start of the handler,
//! `process` (consumer) around the handler. Names and attributes are those of the conventions for messaging; they are
//! attributes of the span alone, so that log lines are not full of them.

use std::fmt::Display;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, Value};
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::{Trace, TraceMode, w3c};
use crate::job::{NewJob, text};
use crate::store::{ClaimedJob, Result};

/// What a span says of an error at most.
const MAX_WORDS: usize = 1_024;

pub(super) fn current() -> Trace {
    written(&here())
}

pub(super) fn adopt(trace: &Trace, span: &Span) {
    if let Some(from) = read(trace) {
        // It fails where nobody exports spans, and then nothing is lost.
        let _ = span.set_parent(Context::new().with_remote_span_context(from));
    }
    tell_logs(span);
}

/// The context of the current span; of `tracing`, or of whoever uses OpenTelemetry without it.
fn here() -> Context {
    let of_span = Span::current().context();
    if of_span.has_active_span() { of_span } else { Context::current() }
}

fn written(context: &Context) -> Trace {
    let span = context.span();
    let at = span.span_context();
    if !at.is_valid() {
        return Trace::default();
    }
    let sampled = u8::from(at.is_sampled());
    let parent = format!("00-{}-{}-{sampled:02x}", at.trace_id(), at.span_id());
    let state = Some(at.trace_state().header()).filter(|state| w3c::is_state(state));
    Trace { parent: Some(parent), state }
}

fn read(trace: &Trace) -> Option<SpanContext> {
    let parent = w3c::Parent::read(trace.parent.as_deref()?)?;
    let state = trace.state.as_deref().and_then(|state| TraceState::from_str(state).ok());
    Some(SpanContext::new(
        TraceId::from_hex(parent.trace).ok()?,
        SpanId::from_hex(parent.span).ok()?,
        TraceFlags::new(parent.flags & 1),
        true,
        state.unwrap_or_default(),
    ))
}

/// Whether somebody exports this span. It is not started by the question.
fn is_heard(span: &Span) -> bool {
    !span.is_disabled() && span.set_parent(here()).is_ok()
}

/// Starts the span, so that nothing about where it stands can change any more; its log lines name the trace.
fn tell_logs(span: &Span) {
    let context = span.context();
    if context.has_active_span() {
        span.record("trace_id", tracing::field::display(context.span().span_context().trace_id()));
    }
}

fn describe(span: &Span, operation: &'static str, queue: &str, kind: &str) {
    span.set_attribute("messaging.system", "longshore");
    span.set_attribute("messaging.operation.name", operation);
    span.set_attribute("messaging.operation.type", operation);
    span.set_attribute("messaging.destination.name", queue.to_owned());
    span.set_attribute("longshore.job.kind", kind.to_owned());
}

/// The span of an enqueue; nothing where nobody exports it.
#[derive(Clone)]
pub(crate) struct Sending(Option<Arc<Sent>>);

struct Sent {
    span: Span,
    trace: Trace,
}

impl Sending {
    /// Around the enqueue of this job, and of those that come with it. It is a child of the current span, or else of
    /// the trace that the job names.
    pub fn of(job: &NewJob) -> Sending {
        let span = tracing::info_span!(
            target: "longshore::enqueue", "send",
            otel.name = format!("send {}", job.queue), otel.kind = "producer"
        );
        if !is_heard(&span) {
            return Sending(None);
        }
        if !here().has_active_span()
            && let Some(named) = read(&Trace::of_notes(job.meta.as_deref()))
        {
            let _ = span.set_parent(Context::new().with_remote_span_context(named));
        }
        describe(&span, "send", &job.queue, &job.kind);
        let trace = written(&span.context());
        Sending(Some(Arc::new(Sent { span, trace })))
    }

    /// Keeps with the job where it comes from.
    pub fn stamp(&self, job: &mut NewJob) {
        if let Some(sent) = &self.0 {
            job.join(&sent.trace);
        }
    }

    /// That it is this job alone.
    pub fn alone(&self, job: &NewJob) {
        if let Some(sent) = &self.0 {
            sent.span.set_attribute("messaging.message.id", job.id.to_string());
        }
    }

    /// How many jobs it was.
    pub fn counted(&self, jobs: usize) {
        if let Some(sent) = &self.0 {
            sent.span.set_attribute("messaging.batch.message_count", jobs as i64);
        }
    }

    pub fn failed(&self, error: &impl Display) {
        if let Some(sent) = &self.0 {
            failed(&sent.span, "error", &error.to_string());
        }
    }

    pub async fn around<T>(self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(sent) = &self.0 else { return work.await };
        let done = work.instrument(sent.span.clone()).await;
        done.inspect_err(|error| self.failed(error))
    }
}

/// The span of a job that lies ready; it ends with this value.
pub(crate) struct Received(Option<Span>);

impl Received {
    pub fn new(job: &ClaimedJob, mode: TraceMode) -> Received {
        let span = tracing::info_span!(
            target: "longshore::claim", parent: None, "receive",
            otel.name = format!("receive {}", job.queue), otel.kind = "client"
        );
        if !is_heard(&span) {
            return Received(None);
        }
        come_from(&span, job, mode);
        describe(&span, "receive", &job.queue, &job.kind);
        span.set_attribute("messaging.message.id", job.id.to_string());
        span.set_attribute("longshore.job.attempt", i64::from(job.attempt));
        Received(Some(span))
    }
}

/// Joins a span that has not started to the trace that its job was enqueued in.
fn come_from(span: &Span, job: &ClaimedJob, mode: TraceMode) {
    let from = read(&Trace::of_notes(job.meta.as_deref()));
    let parent = match (mode, from) {
        (TraceMode::Continued, Some(from)) => Context::new().with_remote_span_context(from),
        (TraceMode::Linked, Some(from)) => {
            span.add_link(from);
            Context::new()
        }
        (_, None) => Context::new(),
    };
    let _ = span.set_parent(parent);
}

/// The span around a run, a child of its claim's.
pub(crate) fn run(job: &ClaimedJob, received: Received, mode: TraceMode) -> Span {
    // As grave as can be, so that no filter by level hides it.
    let span = tracing::error_span!(
        target: "longshore::run", "run",
        otel.name = format!("process {}", job.queue), otel.kind = "consumer",
        job = %job.id, kind = job.kind, attempt = job.attempt, trace_id = tracing::field::Empty
    );
    if !is_heard(&span) {
        return span;
    }
    match &received.0 {
        Some(receive) => {
            if let (TraceMode::Linked, Some(from)) =
                (mode, read(&Trace::of_notes(job.meta.as_deref())))
            {
                span.add_link(from);
            }
            let _ = span.set_parent(receive.context());
        }
        None => come_from(&span, job, mode),
    }
    describe(&span, "process", &job.queue, &job.kind);
    span.set_attribute("messaging.message.id", job.id.to_string());
    span.set_attribute("longshore.job.attempt", i64::from(job.attempt));
    tell_logs(&span);
    span
}

/// That what the span is around went wrong: `kind` has few values, `words` are for people.
pub(crate) fn failed(span: &Span, kind: &'static str, words: &str) {
    span.set_attribute("error.type", kind);
    span.set_status(Status::error(text::fit(words, MAX_WORDS)));
}

pub(crate) fn note(span: &Span, key: &'static str, value: &'static str) {
    span.set_attribute(key, Value::from(value));
}
