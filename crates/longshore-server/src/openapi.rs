//! The OpenAPI document, made from the route table.

use axum::http::StatusCode;
use utoipa::openapi::path::{Operation, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, InfoBuilder, LicenseBuilder, OpenApi, Ref, RefOr, Response,
    ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use crate::config::ServerConfig;
use crate::problem::{MEDIA_TYPE, Problem};
use crate::rights::Right;

/// The document of this version, as the server gives it at `/api/openapi.json`.
pub fn document() -> OpenApi {
    finished(crate::api::router(&ServerConfig::default()).split_for_parts().1)
}

/// What belongs to the whole, added to what the routes say.
pub(crate) fn finished(mut document: OpenApi) -> OpenApi {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").build();
    document.info = InfoBuilder::new()
        .title("Longshore")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description()))
        .license(Some(license))
        .build();
    document.tags = Some(vec![
        TagBuilder::new().name("jobs").description(Some("Jobs, one at a time and many.")).build(),
        TagBuilder::new()
            .name("operations")
            .description(Some("One action on every job that matches."))
            .build(),
        TagBuilder::new().name("queues").description(Some("Queues: pausing, emptying.")).build(),
        TagBuilder::new().name("kinds").description(Some("What nodes can run.")).build(),
        TagBuilder::new().name("nodes").description(Some("The processes that run jobs.")).build(),
        TagBuilder::new()
            .name("work")
            .description(Some("What a worker without a database calls to run jobs."))
            .build(),
        TagBuilder::new()
            .name("retention")
            .description(Some("How long ended jobs are kept, and their removal."))
            .build(),
        TagBuilder::new()
            .name("stats")
            .description(Some("Numbers of now, and when they change."))
            .build(),
        TagBuilder::new()
            .name("access")
            .description(Some("Who comes in, and with which rights."))
            .build(),
        TagBuilder::new().name("audit").description(Some("Who changed what.")).build(),
    ]);
    let components = document.components.get_or_insert_default();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.security_schemes.insert("token".to_owned(), SecurityScheme::Http(bearer).into());
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    let mut schemas = Vec::new();
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    for operation in operations(&mut document.paths) {
        for (status, response) in &mut operation.responses.responses {
            if let RefOr::T(response) = response {
                problem_body(status, response);
            }
        }
        let other = problem("Anything else: see the table of problems.");
        operation.responses.responses.insert("default".to_owned(), RefOr::T(other));
    }
    document
}

/// Every operation, whatever its path and method.
pub(crate) fn operations(paths: &mut Paths) -> impl Iterator<Item = &mut Operation> {
    paths.paths.values_mut().flat_map(|item| {
        [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
            .into_iter()
            .flatten()
    })
}

/// Every answer of 400 and above is a problem.
fn problem_body(status: &str, response: &mut Response) {
    let status = status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok());
    if status.is_some_and(|status| status.is_client_error() || status.is_server_error()) {
        *response = problem(&response.description);
    }
}

fn problem(description: &str) -> Response {
    let schema = Ref::from_schema_name(Problem::name());
    ResponseBuilder::new()
        .description(description)
        .content(MEDIA_TYPE, ContentBuilder::new().schema(Some(schema)).build())
        .header(
            "X-Request-Id",
            HeaderBuilder::new().description(Some("Names the request in the log.")).build(),
        )
        .build()
}

fn description() -> String {
    let mut text = String::from(
        "Background jobs over HTTP. Times are RFC 3339 in UTC, ids are UUIDs, payloads and outputs go through \
         byte for byte. Every error is `application/problem+json` (RFC 9457).\n\n\
         An operation whose `x-longshore` says `audited` leaves an entry in the audit log. \
         An operation needs the right that its security names. Who has which:\n\n\
         | right | least role | |\n|---|---|---|\n",
    );
    for right in Right::ALL {
        text += &format!("| `{right}` | {} | {} |\n", right.least_role(), right.explanation());
    }
    text
}
