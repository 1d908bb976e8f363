//! A router, and requests to it.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use longshore::testing::TestStore;
use longshore_server::{Access, Role, Server, ServerConfig};
use serde_json::Value;
use tower::ServiceExt;

/// An API that a test calls.
pub struct Api(Router);

/// What it answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Api {
    /// Whoever asks may do everything.
    pub fn of(store: &TestStore) -> Api {
        Api::open_to(store, Role::Admin)
    }

    pub fn open_to(store: &TestStore, role: Role) -> Api {
        let config = ServerConfig { access: Access::Open(role), ..ServerConfig::default() };
        Api::with(store, config)
    }

    pub fn with(store: &TestStore, config: ServerConfig) -> Api {
        Api(Server::new(store.client()).config(config).site())
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.0.clone().oneshot(request).await.expect("a router does not fail");
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("answers are text");
        let answer = Answer { status: head.status, headers: head.headers, text };
        answer.is_sound();
        answer
    }

    /// An answer whose body has no end.
    pub async fn open(&self, request: Request<Body>) -> axum::response::Response {
        self.0.clone().oneshot(request).await.expect("a router does not fail")
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(request("GET", path, None)).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(request("POST", path, Some(body))).await
    }

    /// A POST without a body.
    pub async fn ask(&self, path: &str) -> Answer {
        self.send(request("POST", path, None)).await
    }

    pub async fn patch(&self, path: &str, body: &str) -> Answer {
        self.send(request("PATCH", path, Some(body))).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(request("DELETE", path, None)).await
    }

    /// A job that is added; its id.
    pub async fn add(&self, body: &str) -> String {
        let answer = self.post("/api/v1/jobs", body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }
}

pub fn request(method: &str, path: &str, body: Option<&str>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost:7878");
    match body {
        Some(body) => {
            request.header("content-type", "application/json").body(Body::from(body.to_owned()))
        }
        None => request.body(Body::empty()),
    }
    .expect("a request")
}

impl Answer {
    /// What holds for every answer there is.
    fn is_sound(&self) {
        assert!(self.headers.contains_key("x-request-id"), "{self:?}");
        assert_eq!(self.headers["x-content-type-options"], "nosniff");
        if self.status.as_u16() >= 400 && !self.text.contains("\"ready\"") {
            assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
            let problem = self.json();
            assert_eq!(problem["status"], self.status.as_u16());
            assert_eq!(problem["request_id"], self.headers["x-request-id"].to_str().unwrap());
            for field in ["type", "title", "code", "detail"] {
                assert!(problem[field].is_string(), "{field} of {}", self.text);
            }
            let text = self.text.to_lowercase();
            for secret in ["select ", "insert ", "sqlx", "sqlite_", "panicked"] {
                assert!(!text.contains(secret), "{}", self.text);
            }
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The status, the kind of problem, its words and where.
    pub fn problem(&self) -> (u16, String, String, String) {
        let json = self.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let fault = &json["errors"][0];
        let place =
            if fault["pointer"].is_null() { &fault["parameter"] } else { &fault["pointer"] };
        (self.status.as_u16(), text(&json["code"]), text(&json["detail"]), text(place))
    }
}
