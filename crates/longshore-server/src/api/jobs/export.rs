//! All jobs that match, written out as they are read.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use longshore::{Export, Filter};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::problem::Result;
use crate::request::Params;
use crate::server::App;
use crate::wire::ExportFormat;

/// Which jobs, and how.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// Only jobs that pass this query.
    #[serde(default)]
    q: String,
    /// How they are written.
    #[param(inline)]
    format: Option<ExportFormat>,
}

/// Writes out all jobs that match, newest first, whole but for what is hidden: CSV or JSON Lines.
///
/// The answer is a stream of any length; it is complete if the connection ends as HTTP says that it should.
#[utoipa::path(get, path = "/jobs/export", tag = "jobs", operation_id = "jobs.export",
    params(ExportParams),
    responses((status = 200, description = "The jobs.",
        content((String = "application/jsonl"), (String = "text/csv")))))]
pub(crate) async fn export(
    State(app): State<App>,
    Params(params): Params<ExportParams>,
) -> Result<Response> {
    let filter = Filter::parse(&params.q)?;
    let format = params.format.unwrap_or(ExportFormat::Jsonl);
    let mut export = app.client.export(filter);
    // What is wrong from the start is still a problem, and no stream that breaks off.
    let first = part(&mut export, format).await?;
    let head = Bytes::from(format.head());
    let begun = stream::iter([Ok(head)].into_iter().chain(first.map(Ok)));
    let rest = stream::try_unfold(export, move |mut export| async move {
        let next = part(&mut export, format).await?;
        Ok::<_, longshore::StoreError>(next.map(|bytes| (bytes, export)))
    });
    let body = Body::from_stream(stream::StreamExt::chain(begun, rest));
    let media_type = HeaderValue::from_static(format.media_type());
    Ok(([(header::CONTENT_TYPE, media_type)], body).into_response())
}

async fn part(
    export: &mut Export,
    format: ExportFormat,
) -> Result<Option<Bytes>, longshore::StoreError> {
    let page = export.next().await?;
    Ok(page.map(|jobs| jobs.into_iter().flat_map(|job| format.line(job)).collect()))
}
