//! Traces: the W3C context that is kept with a job, and the spans on its way.
//!
//! The texts travel in any build. Spans are made with the feature `otel`; without it `silent` stands in for them.

#[cfg(feature = "otel")]
mod spans;
#[cfg(not(feature = "otel"))]
#[path = "trace/silent.rs"]
mod spans;
mod w3c; // the texts, and what is wrong with them

use serde::{Deserialize, Serialize};

use crate::job::NewJob;
use crate::job::new::MAX_META_BYTES;
pub(crate) use spans::{Received, Sending, failed, note, run};

/// How the spans of a run stand to the trace that its job was enqueued in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceMode {
    /// Each attempt is a trace of its own, with a link to the enqueue: a trace ends when its request does, however
    /// long the job waits and however often it is retried.
    #[default]
    Linked,
    /// Attempts are children of the enqueue: one trace from the request to the last attempt.
    Continued,
}

/// A point in a trace, as W3C Trace Context writes it; empty outside of any. As an argument of a handler: the one
/// that the job was enqueued in, whatever its notes say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// `traceparent`.
    pub parent: Option<String>,
    /// `tracestate`.
    pub state: Option<String>,
}

impl Trace {
    /// What these two headers say; `None` if `traceparent` is not as the standard wants it. A `tracestate` that is
    /// not is left out.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Trace> {
        let parent = w3c::Parent::read(parent)?.to_string();
        let state = state.filter(|state| w3c::is_state(state)).map(str::to_owned);
        Some(Trace { parent: Some(parent), state })
    }

    /// The current span's; empty outside of spans, where nobody exports them, and without the feature `otel`.
    pub fn current() -> Trace {
        spans::current()
    }

    /// What a call to somebody else should carry: the current span's, or else this one.
    pub fn outgoing(&self) -> Trace {
        let current = Trace::current();
        if current.is_empty() { self.clone() } else { current }
    }

    /// Makes a span of `tracing` a child of this point. It works on a span that was never entered; without the
    /// feature `otel` it does nothing.
    pub fn adopt(&self, span: &tracing::Span) {
        spans::adopt(self, span);
    }

    /// Whether it names no trace.
    pub fn is_empty(&self) -> bool {
        self.parent.is_none()
    }

    /// The trace's id: 32 hexadecimal digits.
    pub fn id(&self) -> Option<String> {
        Some(w3c::Parent::read(self.parent.as_deref()?)?.trace.to_owned())
    }

    /// What notes of a job say, right or wrong.
    pub(crate) fn of_notes(notes: Option<&str>) -> Trace {
        #[derive(Deserialize, Default)]
        struct Notes {
            traceparent: Option<String>,
            tracestate: Option<String>,
        }
        // Notes that say it otherwise are the caller's business.
        let notes: Notes = serde_json::from_str(notes.unwrap_or("{}")).unwrap_or_default();
        Trace { parent: notes.traceparent, state: notes.tracestate }
    }

    /// The notes with this in them; all else keeps its bytes. `None` if they have a trace, or are no object.
    fn onto(&self, notes: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Notes {
            traceparent: Option<serde::de::IgnoredAny>,
        }
        let known: Notes = serde_json::from_str(notes).ok()?;
        if known.traceparent.is_some() {
            return None;
        }
        let rest = notes.trim_start().strip_prefix('{')?;
        let quoted = |text: &str| serde_json::to_string(text).expect("a text");
        let mut all = format!("{{\"traceparent\":{}", quoted(self.parent.as_deref()?));
        if let Some(state) = &self.state {
            all += &format!(",\"tracestate\":{}", quoted(state));
        }
        if !rest.trim_start().starts_with('}') {
            all.push(',');
        }
        all += rest;
        (all.len() <= MAX_META_BYTES).then_some(all)
    }
}

impl NewJob {
    /// The trace that it belongs to, kept in its notes as `traceparent` and `tracestate`; not if they name one
    /// already, or have no room left. With the feature `otel` an enqueue inside a span does this by itself.
    pub fn trace(mut self, trace: &Trace) -> NewJob {
        self.join(trace);
        self
    }

    fn join(&mut self, trace: &Trace) {
        if let Some(notes) = trace.onto(self.meta.as_deref().unwrap_or("{}")) {
            self.meta = Some(notes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn notes(notes: Option<&str>, trace: &Trace) -> Option<String> {
        let mut job = NewJob::new("k");
        job.meta = notes.map(Into::into);
        job.trace(trace).meta.map(Into::into)
    }

    #[test]
    fn a_trace_joins_the_notes_and_leaves_the_others_their_bytes() {
        let trace = Trace::parse(PARENT, Some("a=1,b=\"2\"")).unwrap();
        let head = format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1,b=\"2\"""#);
        assert_eq!(notes(None, &trace).unwrap(), format!("{head}}}"));
        assert_eq!(notes(Some(" { }"), &trace).unwrap(), format!("{head} }}"));
        let own = r#"{"n": 1e400, "n": 12345678901234567890123 }"#;
        assert_eq!(notes(Some(own), &trace).unwrap(), format!("{head},{}", &own[1..]));
        let back = Trace::of_notes(notes(Some(own), &trace).as_deref());
        assert_eq!(back, trace);
        assert_eq!(back.id().as_deref(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
    }

    #[test]
    fn notes_that_name_a_trace_have_no_room_or_are_none_stay() {
        let trace = Trace::parse(PARENT, None).unwrap();
        let full = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_META_BYTES - 10));
        for own in [r#"{"traceparent": "mine"}"#, "[1]", "no JSON", &full] {
            assert_eq!(notes(Some(own), &trace).as_deref(), Some(own));
        }
        assert_eq!(notes(None, &Trace::default()), None, "nothing is nothing");
        assert_eq!(Trace::of_notes(Some("no JSON")), Trace::default());
    }
}
