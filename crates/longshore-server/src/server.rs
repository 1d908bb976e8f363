//! The router.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use longshore::Client;
use longshore::work::Work;

use crate::config::ServerConfig;
use crate::events::Events;
use crate::health::Readiness;
use crate::problem::{Code, Problem};
use crate::secrets::Secrets;
use crate::sign_in::{Attempts, OneTime};
use crate::{api, health, layers, metrics, openapi, reference, sign_in};

/// Serves one database over HTTP.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use longshore_server::{Access, Role, Server, ServerConfig};
/// let client = longshore::Client::open("sqlite:jobs.db").await?;
/// // Whoever reaches this port may do what an operator may.
/// let config = ServerConfig { access: Access::Open(Role::Operator), ..Default::default() };
/// let app = axum::Router::new().merge(Server::new(client).config(config).router());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:7878").await?;
/// axum::serve(listener, app).await?;
/// # Ok(()) }
/// ```
pub struct Server {
    client: Client,
    config: ServerConfig,
    readiness: Readiness,
}

/// What handlers work with.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub client: Client,
    pub config: ServerConfig,
    pub readiness: Readiness,
    pub secrets: Secrets,
    pub attempts: Attempts,
    pub code: OneTime,
    pub events: Events,
    pub work: Work,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// For a path that is not there.
pub(crate) async fn nothing() -> Problem {
    Problem::new(
        Code::NotFound,
        "nothing is at this address; the API is below /api/v1, its reference at /api/docs",
    )
}

impl Server {
    /// With the default settings, which let nobody in who has no token.
    pub fn new(client: Client) -> Server {
        Server { client, config: ServerConfig::default(), readiness: Readiness::default() }
    }

    /// With these settings.
    pub fn config(mut self, config: ServerConfig) -> Server {
        self.config = config;
        self
    }

    /// Says whether the process is being stopped: it is not ready then, though it still answers.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// The routes `/api/…`, `/sign-in`, `/metrics`, `/livez`, `/readyz` and `/startupz`, for an application that has others.
    pub fn router(self) -> Router {
        self.build(|router| router)
    }

    /// A whole site: the same, and a problem for every other path.
    pub fn site(self) -> Router {
        self.build(|router| router.fallback(nothing))
    }

    fn build(self, end: impl FnOnce(Router<App>) -> Router<App>) -> Router {
        let Server { client, config, readiness } = self;
        let code = OneTime::new(config.sign_in_code.clone());
        let secrets = Secrets::new(config.rate);
        let events = Events::new(config.streams);
        let work = Work::new(client.clone());
        let app = App(Arc::new(Inner {
            client,
            config,
            readiness,
            secrets,
            attempts: Attempts::default(),
            code,
            events,
            work,
        }));
        let (api, document) = api::router(&app.config).split_for_parts();
        let document = openapi::finished(document);
        let router = Router::new()
            .merge(api)
            .merge(reference::routes(&document))
            .merge(health::routes())
            .merge(sign_in::routes());
        let router = router.merge(metrics::routes(&app.config));
        layers::around(end(router), &app).with_state(app)
    }
}
