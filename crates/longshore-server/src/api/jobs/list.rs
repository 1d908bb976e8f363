//! Which jobs there are, and how many.

use axum::extract::State;
use axum::http::header::LINK;
use axum::response::{IntoResponse, Response};
use axum::{Json, http::HeaderValue};
use longshore::Filter;
use longshore::store::{Effort, ListQuery, MAX_PAGE, Page, Position};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::BASE;
use crate::problem::{Problem, Result};
use crate::request::{Params, ranged};
use crate::server::App;
use crate::wire::{CountView, PageView};

/// Which jobs, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only jobs that pass this query, such as `state:dead kind:email.* created:>-2h`.
    #[serde(default)]
    q: String,
    /// Jobs of one page. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Older jobs than those of the page before: its `next`.
    after: Option<String>,
    /// Newer jobs than those of this page: its `prev`.
    before: Option<String>,
}

/// Lists jobs, newest first, those that wait and those that ended together.
///
/// A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`. Payloads
/// that are long are cut, and outputs left out; ask for the job itself.
#[utoipa::path(get, path = "/jobs", tag = "jobs", operation_id = "jobs.list", params(ListParams),
    responses((status = 200, description = "One page.", body = PageView,
        headers(("Link" = String, description = "The pages before and after, where there are any.")))))]
pub(crate) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Response> {
    let filter = Filter::parse(&params.q)?;
    // Without one the library has its own.
    let limit = match params.limit {
        Some(limit) => ranged("limit", limit, 1..=MAX_PAGE)?,
        None => 0,
    };
    let at = match (&params.after, &params.before) {
        (None, None) => Position::First,
        (Some(after), None) => Position::After(after.parse()?),
        (None, Some(before)) => Position::Before(before.parse()?),
        (Some(_), Some(_)) => {
            return Err(Problem::parameter("before", "after and before exclude each other"));
        }
    };
    let page = app.client.list(ListQuery { filter, at, limit, ..ListQuery::default() }).await?;
    let link = link(&params, &page);
    let mut response = Json(PageView::from(page)).into_response();
    if let Some(link) = link {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

fn link(params: &ListParams, page: &Page) -> Option<HeaderValue> {
    let same = |name: &str, cursor: String, relation: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !params.q.is_empty() {
            query.append_pair("q", &params.q);
        }
        if let Some(limit) = params.limit {
            query.append_pair("limit", &limit.to_string());
        }
        query.append_pair(name, &cursor);
        format!("<{BASE}/jobs?{}>; rel=\"{relation}\"", query.finish())
    };
    let next = page.next.map(|cursor| same("after", cursor.to_string(), "next"));
    let prev = page.prev.map(|cursor| same("before", cursor.to_string(), "prev"));
    let links: Vec<String> = next.into_iter().chain(prev).collect();
    if links.is_empty() { None } else { HeaderValue::try_from(links.join(", ")).ok() }
}

/// Which jobs to count.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CountParams {
    /// Only jobs that pass this query.
    #[serde(default)]
    q: String,
}

/// Counts jobs: exactly up to 10,000, then `at_least`.
#[utoipa::path(get, path = "/jobs/count", tag = "jobs", operation_id = "jobs.count",
    params(CountParams), responses((status = 200, description = "How many.", body = CountView)))]
pub(crate) async fn count(
    State(app): State<App>,
    Params(params): Params<CountParams>,
) -> Result<Json<CountView>> {
    let filter = Filter::parse(&params.q)?;
    Ok(Json(app.client.count(filter, Effort::Bounded).await?.into()))
}
