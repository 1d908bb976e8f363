//! The route table: which right, which handler. Paths and methods stand at the handlers.

mod access;
mod audit;
mod events;
mod jobs;
mod kinds;
mod nodes;
mod operations;
mod queues;
mod retention;
mod stats;
mod work;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use serde_json::json;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::audit::{audited, leaves_a_trace};
use crate::config::ServerConfig;
use crate::identity::require;
use crate::openapi::operations as each_operation;
use crate::rights::Right;
use crate::server::App;

/// Below this everything is.
pub(crate) const BASE: &str = "/api/v1";

pub(crate) fn router(config: &ServerConfig) -> OpenApiRouter<App> {
    use access::{me, sessions, tokens, users};
    use jobs::{act, answers, batch, change, create, export, list, logs, show};
    // Whoever signs in has no right yet; about oneself everybody may ask.
    let open = [
        routes!(sessions::create),
        routes!(sessions::end),
        routes!(me::show),
        routes!(me::password),
    ];
    let table = [
        (Right::JobsEnqueue, routes!(create::enqueue)),
        (Right::JobsEnqueue, sized(config.batch_bytes, routes!(batch::enqueue))),
        (Right::JobsEnqueue, routes!(create::rerun)),
        (Right::JobsRead, routes!(list::list)),
        (Right::JobsRead, routes!(list::count)),
        (Right::JobsExport, routes!(export::export)),
        (Right::JobsRead, routes!(show::show)),
        (Right::JobsReveal, routes!(show::reveal)),
        (Right::JobsRead, routes!(answers::attempts)),
        (Right::JobsRead, routes!(answers::output)),
        (Right::JobsRead, routes!(answers::wait)),
        (Right::JobsRead, routes!(logs::logs)),
        (Right::JobsCancel, routes!(act::cancel)),
        (Right::JobsRetry, routes!(act::retry)),
        (Right::JobsEdit, routes!(change::edit)),
        (Right::JobsEdit, routes!(change::run_now)),
        (Right::JobsEdit, routes!(change::reschedule)),
        (Right::JobsDelete, routes!(change::delete)),
        (Right::JobsBulk, routes!(operations::start)),
        (Right::JobsRead, routes!(operations::list)),
        (Right::JobsRead, routes!(operations::show)),
        (Right::JobsBulk, routes!(operations::pause)),
        (Right::JobsBulk, routes!(operations::resume)),
        (Right::JobsBulk, routes!(operations::cancel)),
        (Right::JobsWork, routes!(work::join)),
        (Right::JobsWork, routes!(work::lease)),
        (Right::JobsWork, routes!(work::heartbeat)),
        (Right::JobsWork, sized(config.batch_bytes, routes!(work::end))),
        (Right::JobsWork, sized(config.batch_bytes, routes!(work::say))),
        (Right::JobsWork, routes!(work::leave)),
        (Right::QueuesRead, routes!(queues::list)),
        (Right::QueuesRead, routes!(queues::show)),
        (Right::QueuesPause, routes!(queues::pause)),
        (Right::QueuesPause, routes!(queues::resume)),
        (Right::QueuesEmpty, routes!(queues::empty)),
        (Right::NodesRead, routes!(nodes::list)),
        (Right::NodesStop, routes!(nodes::quiet)),
        (Right::NodesStop, routes!(nodes::resume)),
        (Right::NodesStop, routes!(nodes::stop)),
        (Right::KindsRead, routes!(kinds::list)),
        (Right::KindsRead, routes!(kinds::show)),
        (Right::KindsPause, routes!(kinds::pause)),
        (Right::KindsPause, routes!(kinds::resume)),
        (Right::RetentionRead, routes!(retention::list)),
        (Right::RetentionEdit, routes!(retention::set)),
        (Right::RetentionEdit, routes!(retention::remove)),
        (Right::JobsPrune, routes!(retention::prune)),
        (Right::StatsRead, routes!(stats::now)),
        (Right::EventsRead, routes!(events::listen)),
        (Right::AuditRead, routes!(audit::list)),
        (Right::UsersManage, routes!(sessions::list)),
        (Right::UsersManage, routes!(sessions::revoke)),
        (Right::UsersManage, routes!(users::list)),
        (Right::UsersManage, routes!(users::create)),
        (Right::UsersManage, routes!(users::change)),
        (Right::UsersManage, routes!(users::remove)),
        (Right::TokensManage, routes!(tokens::list)),
        (Right::TokensManage, routes!(tokens::create)),
        (Right::TokensManage, routes!(tokens::revoke)),
    ];
    let routes = open
        .into_iter()
        .fold(OpenApiRouter::new(), |router, route| router.routes(traced(None, route)));
    let routes = table
        .into_iter()
        .fold(routes, |router, (right, route)| router.routes(guarded(right, route)));
    OpenApiRouter::new().nest(BASE, routes.fallback(crate::server::nothing))
}

/// The route with another limit of its body than the rest.
fn sized(bytes: usize, route: UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    let (schemas, paths, router) = route;
    (schemas, paths, router.layer(DefaultBodyLimit::max(bytes)))
}

/// The route behind its right.
fn guarded(right: Right, route: UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    let (schemas, paths, router) = traced(Some(right), route);
    (
        schemas,
        paths,
        router.route_layer(from_fn(move |request, next| require(right, request, next))),
    )
}

/// The route with its trace, and in the document the right and whether it leaves one.
fn traced(right: Option<Right>, route: UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    let (schemas, mut paths, mut router) = route;
    let changes = paths.paths.values().any(|item| item.get.is_none());
    for operation in each_operation(&mut paths) {
        let id = operation.operation_id.clone().expect("every operation has one");
        let traced = leaves_a_trace(&id, changes);
        say(operation, right, traced);
        if traced {
            router = router
                .route_layer(from_fn(move |request, next| audited(id.clone(), request, next)));
        }
    }
    (schemas, paths, router)
}

/// One extension for both: several of them stand in no order that lasts.
fn say(operation: &mut Operation, right: Option<Right>, audited: bool) {
    let right = right.map(Right::as_str);
    operation.security = right.map(|right| vec![SecurityRequirement::new("token", [right])]);
    let what = json!({ "right": right, "audited": audited });
    let extension = ExtensionsBuilder::new().add("x-longshore", what).build();
    operation.extensions.get_or_insert_default().merge(extension);
}
