//! The route table: which right, which handler. Paths and methods stand at the handlers.

mod audit;
mod jobs;
mod nodes;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::audit::{audited, leaves_a_trace};
use crate::config::ServerConfig;
use crate::identity::require;
use crate::rights::Right;
use crate::server::App;

/// Below this everything is.
pub(crate) const BASE: &str = "/api/v1";

pub(crate) fn router(config: &ServerConfig) -> OpenApiRouter<App> {
    use jobs::{act, answers, batch, change, create, export, list, show};
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
        (Right::JobsCancel, routes!(act::cancel)),
        (Right::JobsRetry, routes!(act::retry)),
        (Right::JobsEdit, routes!(change::edit)),
        (Right::JobsEdit, routes!(change::run_now)),
        (Right::JobsEdit, routes!(change::reschedule)),
        (Right::JobsDelete, routes!(change::delete)),
        (Right::NodesRead, routes!(nodes::list)),
        (Right::AuditRead, routes!(audit::list)),
    ];
    let routes = table
        .into_iter()
        .fold(OpenApiRouter::new(), |router, (right, route)| router.routes(guarded(right, route)));
    OpenApiRouter::new().nest(BASE, routes.fallback(crate::server::nothing))
}

/// The route with another limit of its body than the rest.
fn sized(bytes: usize, route: UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    let (schemas, paths, router) = route;
    (schemas, paths, router.layer(DefaultBodyLimit::max(bytes)))
}

/// The route behind its right, and in the document the right and whether it leaves a trace.
fn guarded(right: Right, route: UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    let (schemas, mut paths, mut router) = route;
    for item in paths.paths.values_mut() {
        let changes = item.get.is_none();
        let operations =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            name(right, operation);
            let id = operation.operation_id.clone().expect("every operation has one");
            if leaves_a_trace(&id, changes) {
                let extension = ExtensionsBuilder::new().add("x-longshore-audited", true).build();
                operation.extensions.get_or_insert_default().merge(extension);
                router = router
                    .route_layer(from_fn(move |request, next| audited(id.clone(), request, next)));
            }
        }
    }
    (
        schemas,
        paths,
        router.route_layer(from_fn(move |request, next| require(right, request, next))),
    )
}

fn name(right: Right, operation: &mut Operation) {
    operation.security = Some(vec![SecurityRequirement::new("token", [right.as_str()])]);
    let extension = ExtensionsBuilder::new().add("x-longshore-right", right.as_str()).build();
    operation.extensions.get_or_insert_default().merge(extension);
}
