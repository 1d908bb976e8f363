//! Many new jobs in one request.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::create::new_job;
use crate::audit::Note;
use crate::identity::Identity;
use crate::once::{Asked, Replayed};
use crate::problem::{Problem, Result};
use crate::request::{Body, read};
use crate::server::App;
use crate::wire::{BatchAnswer, BatchResult, EnqueuedView, JobBody};

/// The most jobs of one batch.
const MAX_JOBS: usize = 1_000;

/// Many new jobs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchBody<'a> {
    /// The jobs.
    #[serde(borrow)]
    #[schema(value_type = Vec<JobBody>, min_items = 1, max_items = 1000)]
    jobs: Vec<&'a RawValue>,
    /// Whether good jobs are added although others are refused. Default no: all or none.
    #[serde(default)]
    partial: bool,
}

/// Adds up to 1,000 jobs: all or none, or with `partial` all that are good.
#[utoipa::path(post, path = "/jobs/batch", tag = "jobs", operation_id = "jobs.enqueue_many",
    request_body = BatchBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "As at `jobs.enqueue`; not with `partial`.")),
    responses(
        (status = 201, description = "What became of each, in order.", body = BatchAnswer),
        (status = 200, description = "With `partial`: nothing was added.", body = BatchAnswer),
    ))]
pub(crate) async fn enqueue(
    State(app): State<App>,
    who: Identity,
    asked: Asked,
    headers: HeaderMap,
    note: Note,
    raw: Body,
) -> Result<Response> {
    let body: BatchBody = raw.read()?;
    if body.partial && asked.has_key() {
        let detail = "with an `Idempotency-Key` a batch is all or nothing: what was refused could not be told again";
        return Err(Problem::value("/partial", detail));
    }
    if body.jobs.is_empty() || body.jobs.len() > MAX_JOBS {
        let detail = format!("jobs has {} entries; it may have 1 to {MAX_JOBS}", body.jobs.len());
        return Err(Problem::value("/jobs", detail));
    }
    let jobs = body.jobs.iter().enumerate().map(|(index, text)| {
        read::<JobBody>(text.get())
            .and_then(|job| new_job(job, &headers))
            .map_err(|problem| if body.partial { problem } else { problem.of_job(index) })
    });
    let mut replayed = Replayed(false);
    let answer = if body.partial {
        let results = jobs.map(async |job| match job {
            Ok(job) => app.client.enqueue(job).await.map_err(Problem::from),
            Err(problem) => Err(problem),
        });
        let results = join_all(results).await.into_iter().map(|result| match result {
            Ok(enqueued) => BatchResult::Enqueued(enqueued.into()),
            Err(problem) => BatchResult::Refused { problem },
        });
        BatchAnswer::new(results.collect())
    } else {
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let (enqueued, again) = asked.enqueue(&app, &who, Some(&raw), jobs).await?;
        replayed = again;
        let results = enqueued.into_iter().map(EnqueuedView::from).map(BatchResult::Enqueued);
        BatchAnswer::new(results.collect())
    };
    note.count(answer.added);
    let status = if answer.added > 0 { StatusCode::CREATED } else { StatusCode::OK };
    Ok(replayed.mark((status, Json(answer)).into_response()))
}
