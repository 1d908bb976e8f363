//! The numbers of now.

use axum::Json;
use axum::extract::State;

use crate::problem::Result;
use crate::server::App;
use crate::wire::StatsView;

/// How things are now: jobs by state, queues, what runs, live nodes, the oldest job that waits.
///
/// Every number is bounded, so that it takes milliseconds however many jobs there are.
#[utoipa::path(get, path = "/stats/now", tag = "stats", operation_id = "stats.now",
    responses((status = 200, description = "The numbers.", body = StatsView)))]
pub(super) async fn now(State(app): State<App>) -> Result<Json<StatsView>> {
    Ok(Json(app.client.stats().await?.into()))
}
