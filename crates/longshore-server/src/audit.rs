//! Changes leave a trace: an entry of the audit log is begun before each, and ended after it.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::RequestExt;
use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams, Request};
use axum::http::Extensions;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use longshore::audit::{EntryEnd, EntryId, NewEntry};
use longshore::{JobId, JobRow};
use serde_json::{Map, Value, json};
use tracing::Instrument;

use crate::identity::{Identity, Kind};
use crate::layers::RequestId;
use crate::problem::{Code, Problem, Result};
use crate::server::App;

/// Changes that leave none: there may be thousands of them a second, and each job says itself what it is.
/// Whoever signs in is not known before; the handler writes the entry itself.
const PLAIN: [&str; 6] =
    ["jobs.enqueue", "sessions.create", "work.lease", "work.heartbeat", "work.end", "work.say"];
/// Looks that do: they show what is hidden from others.
const LOOKS: [&str; 1] = ["jobs.reveal"];

/// Whether this operation leaves a trace. `changes`: its method is none that only reads.
pub(crate) fn leaves_a_trace(operation: &str, changes: bool) -> bool {
    (changes && !PLAIN.contains(&operation)) || LOOKS.contains(&operation)
}

/// The address that a request came from: the proxy's, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub IpAddr);

pub(crate) fn peer(extensions: &Extensions) -> Option<Peer> {
    let ConnectInfo(peer) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(Peer(peer.ip().to_canonical()))
}

/// What a handler tells about a change beside what can be seen from outside.
#[derive(Clone, Default)]
pub(crate) struct Note(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    why: Option<String>,
    count: Option<u64>,
    detail: Option<Value>,
}

impl Note {
    pub fn why(&self, why: Option<&str>) {
        self.0.lock().expect("nothing here panics").why = why.map(str::to_owned);
    }

    /// What was made or changed, where the address does not say it. No secrets.
    pub fn detail(&self, detail: Value) {
        self.0.lock().expect("nothing here panics").detail = Some(detail);
    }

    pub fn count(&self, count: usize) {
        self.0.lock().expect("nothing here panics").count = Some(count as u64);
    }
}

/// Where there is none, what is said goes nowhere.
impl<S: Send + Sync> FromRequestParts<S> for Note {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Note> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// Begins the entry, does what is asked, and ends the entry. Without an entry nothing is done.
pub(crate) async fn audited(action: String, mut request: Request, next: Next) -> Result<Response> {
    let app = request.extensions().get::<App>().expect("put there around all routes").clone();
    let target = target(&mut request).await;
    let entry = entry(&action, target.as_deref(), &request);
    let id = app.client.begin_audit(entry).await.map_err(|error| {
        tracing::error!(%action, "could not write the audit log: {error}");
        let detail = "the audit log cannot be written, so nothing was done; try again later";
        Problem::new(Code::Unavailable, detail).header(axum::http::header::RETRY_AFTER, 1)
    })?;
    let note = Note::default();
    request.extensions_mut().insert(note.clone());
    let reads = request.method().is_safe();
    let job = target.and_then(|target| target.parse::<JobId>().ok()).filter(|_| !reads);
    // In a task of its own: a caller who hangs up changes nothing about what is done and noted.
    let work = async move {
        let before = seen(&app, job).await;
        let response = next.run(request).await;
        let after = seen(&app, job).await;
        let status = response.status().as_u16();
        let differs = if response.status().is_success() { differs(before, after) } else { None };
        let Said { why, count, detail } =
            std::mem::take(&mut *note.0.lock().expect("nothing here panics"));
        let detail = detail.map(|detail| detail.to_string()).or(differs);
        end(&app, id, EntryEnd { status, count, why, detail }).await;
        response
    };
    match tokio::spawn(work.in_current_span()).await {
        Ok(response) => Ok(response),
        // As if there had been no task between.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Problem::new(Code::Draining, "this server stops")),
        },
    }
}

async fn target(request: &mut Request) -> Option<String> {
    let params = request.extract_parts::<RawPathParams>().await.ok()?;
    params.iter().next().map(|(_, value)| value.to_owned())
}

fn entry(action: &str, target: Option<&str>, request: &Request) -> NewEntry {
    let who = request.extensions().get::<Identity>();
    let (name, kind) = who.map_or(("nobody", "nobody"), |who| (&*who.name, who.kind.word()));
    let mut entry = NewEntry::new(action, name, kind);
    // Names need not differ.
    match who.map(|who| who.kind) {
        Some(Kind::Token(id)) => entry = entry.actor_id(&id.to_string()),
        Some(Kind::Session(id)) => entry = entry.actor_id(&id.to_string()),
        _ => {}
    }
    if let Some(target) = target {
        entry = entry.target(target);
    }
    if let Some(Peer(address)) = peer(request.extensions()) {
        entry = entry.address(&address.to_string());
    }
    match request.extensions().get::<RequestId>() {
        Some(RequestId(id)) => entry.request_id(id),
        None => entry,
    }
}

/// The job as it is. That it cannot be read changes nothing about what is asked.
async fn seen(app: &App, job: Option<JobId>) -> Option<Map<String, Value>> {
    let job = app.client.get(job?).await.ok()?;
    Some(view(&job))
}

/// What can be changed about a job, without payload and notes: they may hold what is not to be shown.
fn view(job: &JobRow) -> Map<String, Value> {
    let view = json!({
        "state": job.state.as_str(),
        "queue": job.queue,
        "priority": job.priority,
        "run_at": job.run_at.map(|at| at.to_string()),
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "tags": job.tags,
        "version": job.version,
        "payload_bytes": job.payload_bytes,
        "payload_version": job.payload_version,
        "asked_to_cancel": job.cancel.is_some(),
    });
    match view {
        Value::Object(map) => map,
        _ => unreachable!("it is an object"),
    }
}

/// The fields that are not the same, before and after.
fn differs(
    before: Option<Map<String, Value>>,
    after: Option<Map<String, Value>>,
) -> Option<String> {
    let mut before = before?;
    let Some(mut after) = after else {
        return Some(json!({ "before": before, "after": null }).to_string());
    };
    before.retain(|key, value| {
        let same = after.get(key) == Some(value);
        if same {
            after.remove(key);
        }
        !same
    });
    (!after.is_empty()).then(|| json!({ "before": before, "after": after }).to_string())
}

async fn end(app: &App, id: EntryId, end: EntryEnd) {
    if let Err(error) = app.client.end_audit(id, end).await {
        tracing::warn!(entry = %id, "an entry of the audit log stays without its end: {error}");
    }
}
