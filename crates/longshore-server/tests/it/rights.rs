//! Who may do what: every route, every role.

use longshore::testing::TestStore;
use longshore_server::{Right, Role, ServerConfig, document};

use crate::harness::{Api, request};

/// These need none: whoever signs in has none yet, and about oneself everybody may ask.
const OPEN: [&str; 4] = ["sessions.create", "sessions.end", "me.show", "me.password"];

/// Method, path and right of every other route, as the document has them.
pub fn routes() -> Vec<(String, String, Right)> {
    let document = serde_json::to_value(document()).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let Some(word) = operation["x-longshore"]["right"].as_str() else {
                assert!(OPEN.contains(&id), "{id} has no right");
                continue;
            };
            let right = Right::ALL.iter().find(|right| right.as_str() == word).unwrap();
            assert_eq!(operation["security"][0]["token"][0], word);
            let path = path
                .replace("{id}", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")
                .replace("{name}", "mail");
            routes.push((method.to_uppercase(), path, *right));
        }
    }
    assert!(routes.len() >= 15, "{routes:?}");
    routes
}

#[longshore::test(both)]
async fn each_role_may_do_what_the_table_says_and_nothing_else(store: TestStore) {
    for role in Role::ALL {
        let api = Api::open_to(&store, role);
        for (method, path, right) in routes() {
            let answer = api.send(request(&method, &path, None)).await;
            assert_eq!(
                answer.status != 403,
                role.has(right),
                "{role}: {method} {path}: {answer:?}"
            );
            if !role.has(right) {
                assert!(answer.problem().2.contains(right.as_str()), "{answer:?}");
            }
        }
    }
}

#[longshore::test(both)]
async fn nobody_may_do_anything_by_default(store: TestStore) {
    let api = Api::with(&store, ServerConfig::default());
    for (method, path, _) in routes() {
        let answer = api.send(request(&method, &path, None)).await;
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
    // What tells nothing about jobs is open.
    for path in ["/livez", "/readyz", "/api/openapi.json", "/api/docs"] {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
}
