//! One attempt: the handler runs, a panic is caught, and exactly one word comes back of how it went.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::book::Book;
use super::commit;
use super::hooks::Hooks;
use super::registry::{Failure, Handler, OwnBackoff};
use super::scribe::Scribe;
use crate::client::Client;
use crate::extract::{Counts, States, TxCell};
use crate::handler;
use crate::job::{AttemptFault, JobError, JobId, Outcome};
use crate::store::{ClaimedJob, Held, NodeId};
use crate::trace::{self, Received, TraceMode};

/// The attribute of a span that says how its run went.
const OUTCOME: &str = "longshore.job.outcome";

/// One attempt of a job, handed to its handler. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    pub(super) job: Arc<ClaimedJob>,
    pub(super) node: NodeId,
    pub(super) stop: Stop,
    pub(super) deadline: Option<Instant>,
    pub(super) client: Client,
    pub(super) states: Arc<States>,
    pub(super) scribe: Arc<Scribe>,
}

impl Run {
    /// The job's id.
    pub fn id(&self) -> JobId {
        self.job.id
    }

    /// The job's kind.
    pub fn kind(&self) -> &str {
        &self.job.kind
    }

    /// The job's queue.
    pub fn queue(&self) -> &str {
        &self.job.queue
    }

    /// The payload, byte for byte as it was enqueued.
    pub fn payload(&self) -> &str {
        &self.job.payload
    }

    /// The payload, decoded. What does not fit will not fit the next time either, so the outcome to
    /// answer is [`Outcome::Dead`]; see [`Run::decode_or_dead`], whose words also keep to themselves what is
    /// redacted, as this error does not.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.job.payload)
    }

    /// The payload, decoded, or the outcome to answer if it does not fit.
    pub fn decode_or_dead<T: DeserializeOwned>(&self) -> Result<T, Outcome> {
        self.decode().map_err(|error| {
            let words = handler::words(&error, self.has_redacted());
            Outcome::dead(JobError::new(format!("the payload does not fit: {words}")))
        })
    }

    /// Which version of its kind's payloads it is; 1 if nobody said.
    pub fn payload_version(&self) -> u32 {
        self.job.payload_version
    }

    /// Whether the payload has fields that nobody is shown.
    pub(crate) fn has_redacted(&self) -> bool {
        !self.job.redacted.is_empty()
    }

    /// The caller's notes, a JSON object.
    pub fn meta(&self) -> Option<&str> {
        self.job.meta.as_deref()
    }

    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.job.attempt
    }

    /// Attempts the job may have in all.
    pub fn max_attempts(&self) -> u32 {
        self.job.max_attempts
    }

    /// The node it runs on. With [`Run::lease`] it tells this run from every other one, for effects elsewhere: the
    /// pair never comes twice.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The node's own number for the claim, from 1. Of one node a later claim has a greater one; between two nodes
    /// the numbers say nothing.
    pub fn lease(&self) -> i64 {
        self.job.lease
    }

    /// When it is cut off; `None` if it may run for ever.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// A client on the same database, to enqueue further jobs with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn tx(&self) -> &TxCell {
        &self.stop.0.tx
    }

    /// Where it writes what it says; made when it first does.
    pub(crate) fn book(&self) -> &Arc<Book> {
        let held = Held { id: self.id(), lease: self.lease() };
        self.stop.0.book.get_or_init(|| Arc::new(self.scribe.book(held, self.kind())))
    }

    /// Keeps the span around it for whoever cuts it off.
    pub(crate) fn within(&self, span: Span) -> Span {
        let _ = self.stop.0.span.set(span.clone());
        span
    }

    /// Its span says how it went.
    fn tell_trace(&self, went: &Went) {
        let Some(span) = self.stop.0.span.get() else { return };
        let torn = matches!(self.stop_reason(), Some(StopReason::Shutdown | StopReason::LeaseLost));
        let outcome = match went {
            Went::Answered(Outcome::Done(_)) | Went::Committed => "done",
            Went::Answered(Outcome::Snooze(_)) => "snoozed",
            Went::Answered(Outcome::Throttled(_)) => "throttled",
            Went::Answered(Outcome::Dead(error)) => {
                trace::failed(span, "error", &error.message);
                "dead"
            }
            // It broke off because its node stops; that is no failure.
            Went::Answered(Outcome::Failed(_) | Outcome::Cancel(_) | Outcome::Interrupted)
            | Went::Panicked(_)
                if torn =>
            {
                "given_back"
            }
            Went::Answered(Outcome::Failed(error)) => {
                trace::failed(span, "error", &error.message);
                "failed"
            }
            Went::Panicked(words) => {
                trace::failed(span, "panic", words);
                "failed"
            }
            Went::Answered(Outcome::Cancel(_)) => "cancelled",
            Went::Answered(Outcome::Interrupted) | Went::Dropped => "interrupted",
        };
        trace::note(span, OUTCOME, outcome);
    }

    /// The same, if it has said something, or could have.
    pub(super) fn opened_book(&self) -> Option<&Arc<Book>> {
        self.stop.0.book.get()
    }

    pub(super) fn scribe(&self) -> &Arc<Scribe> {
        &self.scribe
    }

    /// How many follow-up jobs it has enqueued.
    pub(crate) fn enqueued(&self) -> &Counts {
        &self.stop.0.enqueued
    }

    pub(crate) fn states(&self) -> &States {
        &self.states
    }

    /// Why the handler should stop, or `None` while it may go on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop.reason()
    }

    /// Waits until the handler should stop. A handler that heeds it ends soon after a cancel and
    /// loses nothing at a shutdown; one that does not is cut off.
    pub async fn stopped(&self) -> StopReason {
        self.stop.0.token.cancelled().await;
        self.stop.reason().unwrap_or(StopReason::Shutdown)
    }

    /// The same signal, to hand on.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.0.token.clone()
    }
}

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody cancelled the job.
    Cancelled,
    /// It ran longer than it may.
    Timeout,
    /// The node stops; the job is given back and its attempt does not count.
    Shutdown,
    /// The node's lease is lost or about to be: somebody else will run the job.
    LeaseLost,
}

/// Tells one run to stop, once, with a reason.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<StopInner>);

#[derive(Default)]
struct StopInner {
    token: CancellationToken,
    reason: OnceLock<StopReason>,
    tx: TxCell,
    book: OnceLock<Arc<Book>>,
    enqueued: Counts,
    /// The one around it, while it runs.
    span: OnceLock<Span>,
}

impl Stop {
    /// The first reason stays.
    pub fn signal(&self, reason: StopReason) {
        let _ = self.0.reason.set(reason);
        self.0.token.cancel();
    }

    pub fn reason(&self) -> Option<StopReason> {
        self.0.reason.get().copied()
    }

    /// It ends here, whatever its code does: its span says so, for the run itself no longer can.
    pub fn cut_off(&self) {
        let Some(span) = self.0.span.get() else { return };
        match self.reason() {
            Some(StopReason::Timeout) => trace::failed(span, "timeout", "ran into its timeout"),
            Some(StopReason::LeaseLost) => trace::failed(span, "lease_lost", "the lease was lost"),
            Some(StopReason::Shutdown | StopReason::Cancelled) | None => {
                trace::note(span, OUTCOME, "given_back");
            }
        }
    }

    /// The run goes on under another claim's number.
    pub fn under(&self, lease: i64) {
        if let Some(book) = self.0.book.get() {
            book.set_lease(lease);
        }
    }
}

/// How a run went, in the runtime's words.
#[derive(Debug)]
pub(super) enum Went {
    /// The handler answered.
    Answered(Outcome),
    /// It panicked, saying this.
    Panicked(String),
    /// Its task was dropped before it answered.
    Dropped,
    /// It answered well, and that is written already, together with its own work.
    Committed,
}

/// That a run is over; sent exactly once for each that was started.
pub(super) struct Ended {
    pub id: JobId,
    /// Which start of a handler it was, in this process.
    pub serial: u64,
    pub went: Went,
    pub took: Duration,
    /// How long the kind itself wants to wait, if that was a failure.
    pub delay: Option<Duration>,
}

/// What a run begins and ends with.
pub(super) struct Around {
    pub report: Report,
    pub hooks: Hooks,
    pub received: Received,
    pub trace: TraceMode,
}

/// Starts the handler; the end comes through the report, however it comes.
pub(super) fn start(handler: &Handler, run: Run, on: &Handle, around: Around) -> AbortHandle {
    let call = handler.call.clone();
    let work = async move {
        let Around { mut report, hooks, received, trace } = around;
        report.from = Instant::now();
        hooks.started(&run);
        let again = run.clone();
        let answer = AssertUnwindSafe(async move { (call.0)(run).await });
        let open = || trace::run(&again.job, received, trace);
        let went = went(listened(&again, open, answer.catch_unwind()).await);
        let went = commit::settle(&again, went).await;
        again.tell_trace(&went);
        report.send(went);
    };
    if handler.blocks {
        let runtime = on.clone();
        on.spawn_blocking(move || runtime.block_on(work)).abort_handle()
    } else {
        on.spawn(work).abort_handle()
    }
}

/// The work in its span, with `tracing`'s events of it kept if the application wants that.
#[cfg(feature = "capture")]
async fn listened<T>(run: &Run, open: impl FnOnce() -> Span, work: impl Future<Output = T>) -> T {
    crate::capture::within(run, open, work).await
}

#[cfg(not(feature = "capture"))]
async fn listened<T>(run: &Run, open: impl FnOnce() -> Span, work: impl Future<Output = T>) -> T {
    let span = if cfg!(feature = "otel") { run.within(open()) } else { Span::none() };
    tracing::Instrument::instrument(work, span).await
}

fn went(answer: Result<Outcome, Box<dyn Any + Send>>) -> Went {
    match answer {
        Ok(outcome) => Went::Answered(outcome),
        Err(panic) => Went::Panicked(panic_text(&*panic)),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic whose payload is not text".to_owned()
    }
}

/// Sends the end when it is said, or when it is dropped without having said it.
pub(super) struct Report {
    id: JobId,
    serial: u64,
    attempt: u32,
    max_attempts: u32,
    backoff: Option<OwnBackoff>,
    from: Instant,
    ended: UnboundedSender<Ended>,
    sent: bool,
}

impl Report {
    pub fn new(run: &Run, serial: u64, ended: UnboundedSender<Ended>) -> Report {
        Report {
            id: run.id(),
            serial,
            attempt: run.attempt(),
            max_attempts: run.max_attempts(),
            backoff: None,
            from: Instant::now(),
            ended,
            sent: false,
        }
    }

    /// Asks the kind how long to wait after a failure.
    pub fn asking(mut self, backoff: Option<&OwnBackoff>) -> Report {
        self.backoff = backoff.cloned();
        self
    }

    fn send(&mut self, went: Went) {
        self.sent = true;
        let took = self.from.elapsed();
        let delay = self.delay(&went);
        let ended = Ended { id: self.id, serial: self.serial, went, took, delay };
        // Nobody listens any more when the node is lost; then nothing is to be written either.
        let _ = self.ended.send(ended);
    }

    /// Where the handler ran, not on our own thread: it is the application's code. If that panics, the
    /// job's policy holds.
    fn delay(&self, went: &Went) -> Option<Duration> {
        let backoff = self.backoff.as_ref().filter(|_| self.attempt < self.max_attempts)?;
        let said;
        let (fault, error) = match went {
            Went::Answered(Outcome::Failed(error)) => (AttemptFault::Error, error),
            Went::Panicked(message) => {
                said = JobError::new(message.clone());
                (AttemptFault::Panic, &said)
            }
            Went::Answered(_) | Went::Dropped | Went::Committed => return None,
        };
        let failure =
            Failure { attempt: self.attempt, max_attempts: self.max_attempts, fault, error };
        match catch_unwind(AssertUnwindSafe(|| backoff(&failure))) {
            Ok(delay) => delay,
            Err(panic) => {
                let text = panic_text(&*panic);
                tracing::warn!(job = %self.id, "a kind's own backoff panicked: {text}");
                None
            }
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.sent {
            self.send(Went::Dropped);
        }
    }
}
