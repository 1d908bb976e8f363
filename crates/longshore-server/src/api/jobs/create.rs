//! New jobs, one at a time.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore::{Enqueued, NewJob, Timestamp};

use super::answers;
use crate::api::BASE;
use crate::identity::Identity;
use crate::meta;
use crate::once::Asked;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisJob, or_default};
use crate::server::App;
use crate::trace;
use crate::wire::{EnqueuedView, JobBody, JobView, RerunBody, Span};

/// Adds a job.
///
/// A job whose unique key another one holds, or whose `id` is there already, is answered with `duplicate`. With
/// `Prefer: wait=SECONDS` the answer is the job itself, once it ended or the time is over.
#[utoipa::path(post, path = "/jobs", tag = "jobs", operation_id = "jobs.enqueue",
    request_body = JobBody,
    params(
        ("Prefer" = Option<String>, Header, description = "`wait=30`: answer when the job ended, or after so many seconds."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same request with the same key is carried out once within 24 hours; a repeat is answered as the first was, with `Idempotency-Replayed: true`."),
        ("traceparent" = Option<String>, Header, description = "W3C trace context; kept with the job."),
    ),
    responses(
        (status = 201, description = "It was added.", body = EnqueuedView,
            headers(("Location" = String, description = "The job's address."))),
        (status = 200, description = "It was there already.", body = EnqueuedView),
        (status = 422, description = "A value is not allowed, or the key was used for another request."),
    ))]
pub(crate) async fn enqueue(
    State(app): State<App>,
    who: Identity,
    asked: Asked,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let job = new_job(body.read()?, &headers)?;
    let (added, replayed) = asked.enqueue(&app, &who, Some(&body), vec![job]).await?;
    answer(&app, added[0], &headers).await.map(|response| replayed.mark(response))
}

/// Runs a job anew: a new one like it, whose notes name the old one as `rerun_of`.
///
/// Works in every state; the old job stays as it is. The new one has no unique key and is due at once.
#[utoipa::path(post, path = "/jobs/{id}/rerun", tag = "jobs", operation_id = "jobs.rerun",
    params(
        ("id" = String, Path, format = Uuid, description = "The old job."),
        ("Idempotency-Key" = Option<String>, Header, description = "As at `jobs.enqueue`."),
    ),
    request_body(content = Option<RerunBody>),
    responses(
        (status = 201, description = "The new job.", body = EnqueuedView,
            headers(("Location" = String, description = "The new job's address."))),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn rerun(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    who: Identity,
    asked: Asked,
    headers: HeaderMap,
    body: Option<Body>,
) -> Result<Response> {
    let raw = body;
    let body: RerunBody = or_default(&raw)?;
    let old = app.client.reveal(id).await?;
    let notes = meta::with(old.meta.as_deref(), "rerun_of", &id.to_string());
    let RerunBody { payload, payload_version, queue } = body;
    let other = JobBody { payload, payload_version, queue, ..JobBody::default() };
    let job = other.onto(NewJob::like(&old).meta(notes))?;
    let (added, replayed) = asked.enqueue(&app, &who, raw.as_ref(), vec![job]).await?;
    answer(&app, added[0], &headers).await.map(|response| replayed.mark(response))
}

/// A time said twice is a mistake.
pub(super) fn due_once(run_at: Option<Timestamp>, run_in: Option<Span>) -> Result<()> {
    match (run_at, run_in) {
        (Some(_), Some(_)) => {
            let detail = "run_in and run_at say it twice; one of them is enough";
            Err(Problem::value("/run_in", detail))
        }
        _ => Ok(()),
    }
}

/// The job that a body describes, with the trace that the request belongs to.
pub(super) fn new_job(body: JobBody<'_>, headers: &HeaderMap) -> Result<NewJob> {
    if body.kind.is_none() {
        return Err(Problem::value("/kind", "kind is missing; it picks the handler"));
    }
    due_once(body.run_at, body.run_in)?;
    Ok(body.into_job()?.trace(&trace::of_job(headers)))
}

async fn answer(app: &App, enqueued: Enqueued, headers: &HeaderMap) -> Result<Response> {
    let place = format!("{BASE}/jobs/{}", enqueued.id);
    let place = HeaderValue::try_from(place).expect("an id is ASCII");
    let status = if enqueued.is_added() { StatusCode::CREATED } else { StatusCode::OK };
    let head = [(header::LOCATION, place)];
    let Some(span) = answers::preferred_wait(app, headers)? else {
        return Ok((status, head, Json(EnqueuedView::from(enqueued))).into_response());
    };
    let job = app.client.wait(enqueued.id, Some(span)).await?;
    let applied = HeaderValue::try_from(format!("wait={}", span.as_secs())).expect("a number");
    let applied = [(HeaderName::from_static("preference-applied"), applied)];
    Ok((status, head, applied, Json(JobView::from(job))).into_response())
}
