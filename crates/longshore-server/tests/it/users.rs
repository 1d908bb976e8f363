//! Users: they sign in with a password, in a browser or without one, and nobody learns more than they should.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, header};
use longshore::access::{NewUser, Secret, UserChange};
use longshore::audit::{AuditQuery, Entry};
use longshore::testing::TestStore;
use longshore_server::{ServerConfig, hash_password};

use crate::harness::{Answer, Api, request};

const GOOD: &str = r#"{"name": "Ada", "password": "correct horse"}"#;
const BAD: &str = r#"{"name": "ada", "password": "wrong horse x"}"#;

async fn user(store: &TestStore, name: &str, role: &str) {
    let user = NewUser::new(name, hash_password("correct horse").unwrap(), "test").role(role);
    assert!(store.client().create_user(user).await.unwrap());
}

fn closed(store: &TestStore) -> Api {
    Api::with(store, ServerConfig::default())
}

fn from(address: &str, mut request: Request<Body>) -> Request<Body> {
    let address: SocketAddr = format!("{address}:1234").parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(address));
    request
}

/// The pair that a browser would send from now on.
fn cookie(answer: &Answer) -> String {
    let set = answer.headers[header::SET_COOKIE].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

fn with(cookie: &str, method: &str, path: &str, body: Option<&str>) -> Request<Body> {
    let mut request = request(method, path, body);
    request.headers_mut().insert(header::COOKIE, cookie.parse().unwrap());
    request
}

async fn signed_in(api: &Api, name: &str) -> String {
    let body = format!(r#"{{"name": "{name}", "password": "correct horse"}}"#);
    let answer = api.post("/api/v1/sessions", &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    cookie(&answer)
}

async fn attempts(store: &TestStore) -> Vec<Entry> {
    let action = Some("sessions.create".to_owned());
    let query = AuditQuery { action, limit: 200, ..Default::default() };
    store.client().audit(query).await.unwrap().entries
}

#[longshore::test(both)]
async fn a_user_signs_in_works_and_signs_out(store: TestStore) {
    user(&store, "ada", "operator").await;
    let api = closed(&store);
    let answer = api.post("/api/v1/sessions", GOOD).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let set = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(set.contains("HttpOnly; SameSite=Lax") && !set.contains("Secure"), "{set}");
    let me = answer.json();
    assert_eq!((me["name"].as_str(), me["kind"].as_str()), (Some("ada"), Some("user")));
    assert!(!answer.text.contains("lsh_"), "the secret is in the cookie alone");

    let cookie = cookie(&answer);
    let asked = async |method: &str, path: &str, body: Option<&str>| {
        api.send(with(&cookie, method, path, body)).await
    };
    assert_eq!(asked("GET", "/api/v1/me", None).await.json(), me);
    let added = asked("POST", "/api/v1/jobs", Some(r#"{"kind": "k"}"#)).await;
    assert_eq!(added.status, 201);
    assert_eq!(asked("GET", "/api/v1/users", None).await.status, 403, "an operator is no admin");
    // The entry of a change names the user.
    let path = format!("/api/v1/jobs/{}/cancel", added.json()["id"].as_str().unwrap());
    assert_eq!(asked("POST", &path, None).await.status, 200);
    let entries =
        store.client().audit(AuditQuery { limit: 1, ..Default::default() }).await.unwrap();
    let entry = &entries.entries[0];
    assert_eq!((&*entry.actor, &*entry.actor_kind, &*entry.action), ("ada", "user", "jobs.cancel"));

    let out = asked("DELETE", "/api/v1/sessions/current", None).await;
    assert_eq!(out.status, 204);
    assert!(out.headers[header::SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    let answer = asked("GET", "/api/v1/me", None).await;
    assert_eq!(answer.status, 401, "at once, in this process");
}

/// By any other name than this machine's, browsers keep the cookie for TLS alone.
#[longshore::test(both)]
async fn elsewhere_the_cookie_is_for_tls_alone(store: TestStore) {
    user(&store, "ada", "viewer").await;
    let mut asked = request("POST", "/api/v1/sessions", Some(GOOD));
    asked.headers_mut().insert(header::HOST, "jobs.example:443".parse().unwrap());
    let api = closed(&store);
    let answer = api.send(asked).await;
    let set = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(set.starts_with("__Host-longshore-session=lsh_") && set.contains("; Secure"), "{set}");
    // The plain name, which anybody in the network could set, counts for nothing there.
    let plain = cookie(&answer).replace("__Host-", "");
    let mut asked = with(&plain, "GET", "/api/v1/me", None);
    asked.headers_mut().insert(header::HOST, "jobs.example".parse().unwrap());
    assert_eq!(api.send(asked).await.status, 401);
}

#[longshore::test(both)]
async fn nobody_learns_whether_there_is_a_user(store: TestStore) {
    user(&store, "ada", "admin").await;
    user(&store, "out", "admin").await;
    store.client().change_user("out", UserChange::default().disabled(true)).await.unwrap();
    let api = closed(&store);
    let mut answers = Vec::new();
    for body in [
        BAD,
        &BAD.replace("ada", "nobody"),
        &GOOD.replace("Ada", "out"),
        &BAD.replace("wrong horse x", ""),
    ] {
        let answer = api.post("/api/v1/sessions", body).await;
        assert!(!answer.headers.contains_key(header::SET_COOKIE));
        let mut json = answer.json();
        json.as_object_mut().unwrap().remove("request_id");
        answers.push((answer.status, json));
    }
    assert_eq!(answers[0].0, 401);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // Written down without names that nobody has, which may be passwords.
    let noted: Vec<_> =
        attempts(&store).await.iter().map(|entry| (entry.actor.clone(), entry.status)).collect();
    let expected = ["ada", "unknown", "unknown", "ada"].map(|name| (name.to_owned(), Some(401)));
    assert_eq!(noted, expected);
    let all = format!("{:?}", attempts(&store).await);
    assert!(!all.contains("nobody") && !all.contains("horse"), "{all}");
}

#[longshore::test(both)]
async fn who_guesses_is_slowed_down_and_others_are_not(store: TestStore) {
    user(&store, "ada", "admin").await;
    let api = closed(&store);
    let tried = async |address: &str, body: &str| {
        api.send(from(address, request("POST", "/api/v1/sessions", Some(body)))).await
    };
    for _ in 0..5 {
        assert_eq!(tried("192.0.2.1", BAD).await.status, 401);
    }
    let refused = tried("192.0.2.1", BAD).await;
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(
        tried("192.0.2.1", GOOD).await.status,
        429,
        "the right one neither, or it would be found"
    );
    assert_eq!(tried("192.0.2.2", GOOD).await.status, 201, "from elsewhere she comes in");
    assert_eq!(attempts(&store).await.len(), 6, "what is refused unlooked fills no log");
    assert_eq!(attempts(&store).await[0].address.as_deref(), Some("192.0.2.2"));
}

#[longshore::test(both)]
async fn an_admin_manages_users_and_a_change_ends_their_sessions(store: TestStore) {
    user(&store, "root", "admin").await;
    let api = closed(&store);
    let root = signed_in(&api, "root").await;
    let asked = async |method: &str, path: &str, body: &str| {
        api.send(with(&root, method, path, Some(body))).await
    };
    let made = asked("POST", "/api/v1/users", &GOOD.replace('}', r#", "role": "viewer"}"#)).await;
    assert_eq!((made.status.as_u16(), made.json()["name"].as_str()), (201, Some("ada")));
    let again = asked("POST", "/api/v1/users", GOOD).await.problem();
    assert_eq!((again.0, &*again.1), (409, "taken"));
    let short = asked("POST", "/api/v1/users", r#"{"name": "b", "password": "short"}"#).await;
    assert_eq!((short.problem().0, &*short.problem().3), (422, "/password"));
    assert!(!short.text.contains("short\""), "{}", short.text);
    let role =
        asked("POST", "/api/v1/users", &GOOD.replace("Ada\"", "b\", \"role\": \"admni\"")).await;
    assert_eq!((role.problem().0, &*role.problem().3), (422, "/role"));
    assert!(role.problem().2.contains("did you mean `admin`"), "{role:?}");

    let ada = signed_in(&api, "ada").await;
    let other = closed(&store);
    assert_eq!(other.send(with(&ada, "GET", "/api/v1/me", None)).await.status, 200);
    let changed = asked("PATCH", "/api/v1/users/ada", r#"{"role": "operator"}"#).await;
    assert_eq!(changed.json()["role"], "operator");
    // Other servers remember for two seconds at most.
    let gone = Instant::now();
    while other.send(with(&ada, "GET", "/api/v1/me", None)).await.status != 401 {
        assert!(gone.elapsed() < Duration::from_secs(5), "the session goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ada = signed_in(&api, "ada").await;
    let sessions = asked("GET", "/api/v1/sessions", "").await.json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    assert_eq!(sessions["sessions"][0]["user"], "ada");
    assert_eq!(asked("DELETE", &format!("/api/v1/sessions/{id}"), "").await.status, 204);
    assert_eq!(api.send(with(&ada, "GET", "/api/v1/me", None)).await.status, 401);
    assert_eq!(
        asked("PATCH", "/api/v1/users/ada", r#"{"disabled": true}"#).await.json()["disabled"],
        true
    );
    assert_eq!(api.post("/api/v1/sessions", GOOD).await.status, 401);
    assert_eq!(asked("DELETE", "/api/v1/users/ada", "").await.status, 204);
    assert_eq!(asked("DELETE", "/api/v1/users/ada", "").await.status, 404);
    let all = format!(
        "{:?}",
        store.client().audit(AuditQuery { limit: 200, ..Default::default() }).await
    );
    assert!(!all.contains("horse") && !all.contains("argon2"), "{all}");
}

/// A right to manage users is no right to everything.
#[longshore::test(both)]
async fn nobody_gives_away_more_than_they_have(store: TestStore) {
    user(&store, "root", "admin").await;
    let client = store.client();
    let clerk =
        NewUser::new("clerk", hash_password("correct horse").unwrap(), "test").role("viewer");
    let clerk = clerk.right("users:manage").right("tokens:manage");
    assert!(client.create_user(clerk).await.unwrap());
    let api = closed(&store);
    let clerk = signed_in(&api, "clerk").await;
    for (method, path, body, status) in [
        (
            "POST",
            "/api/v1/users",
            r#"{"name": "x", "password": "correct horse", "role": "admin"}"#,
            403,
        ),
        (
            "POST",
            "/api/v1/users",
            r#"{"name": "x", "password": "correct horse", "rights": ["jobs:delete"]}"#,
            403,
        ),
        ("PATCH", "/api/v1/users/clerk", r#"{"role": "admin"}"#, 403),
        ("PATCH", "/api/v1/users/root", r#"{"password": "taken over by clerk"}"#, 403),
        ("DELETE", "/api/v1/users/root", "", 403),
        ("POST", "/api/v1/tokens", r#"{"name": "x", "role": "operator"}"#, 403),
        (
            "POST",
            "/api/v1/users",
            r#"{"name": "x", "password": "correct horse", "role": "viewer"}"#,
            201,
        ),
        ("POST", "/api/v1/tokens", r#"{"name": "x", "role": "viewer"}"#, 201),
    ] {
        let answer = api.send(with(&clerk, method, path, Some(body))).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
    }
    assert_eq!(signed_in(&api, "root").await.len(), "longshore-session=lsh_".len() + 64);
}

#[longshore::test(both)]
async fn a_user_changes_the_own_password(store: TestStore) {
    user(&store, "ada", "viewer").await;
    let api = closed(&store);
    let ada = signed_in(&api, "ada").await;
    let path = "/api/v1/me/password";
    let asked = async |body: &str| api.send(with(&ada, "PUT", path, Some(body))).await;
    let wrong = asked(r#"{"old": "not the old one", "new": "a new password"}"#).await;
    assert_eq!(wrong.status, 401);
    let changed = asked(r#"{"old": "correct horse", "new": "a new password"}"#).await;
    assert_eq!(changed.status, 204, "{changed:?}");
    let new = cookie(&changed);
    assert_eq!(api.send(with(&new, "GET", "/api/v1/me", None)).await.status, 200);
    assert_eq!(closed(&store).send(with(&ada, "GET", "/api/v1/me", None)).await.status, 401);
    assert_eq!(api.post("/api/v1/sessions", GOOD).await.status, 401);
}

#[longshore::test(both)]
async fn tokens_are_made_and_revoked_over_http(store: TestStore) {
    let api = Api::of(&store);
    let made =
        api.post("/api/v1/tokens", r#"{"name": "ci", "role": "viewer", "expires_in": "1h"}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    let (id, secret) = (made.json()["id"].clone(), made.json()["secret"].clone());
    let listed = api.get("/api/v1/tokens").await;
    assert_eq!(listed.json()["tokens"][0]["id"], id);
    assert!(!listed.text.contains(secret.as_str().unwrap()));
    let path = format!("/api/v1/tokens/{}", id.as_str().unwrap());
    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(api.get("/api/v1/tokens").await.json()["tokens"][0]["state"], "revoked");
    assert_eq!(api.post("/api/v1/tokens", r#"{"name": "ci"}"#).await.problem().3, "/role");
    let wrong = api.delete(&format!("/api/v1/tokens/{}", secret.as_str().unwrap())).await;
    assert_eq!(wrong.status, 400);
    assert!(!wrong.text.contains("lsh_"), "an error repeats the secret");
}

fn form(body: &str) -> Request<Body> {
    let mut request = request("POST", "/sign-in", Some(body));
    let form = "application/x-www-form-urlencoded".parse().unwrap();
    request.headers_mut().insert(header::CONTENT_TYPE, form);
    request
}

#[longshore::test(both)]
async fn people_sign_in_by_a_plain_form(store: TestStore) {
    user(&store, "ada", "viewer").await;
    let api = closed(&store);
    let page = api.get("/sign-in").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<label for=\"password\">"), "{}", page.text);
    assert!(
        page.headers["content-security-policy"].to_str().unwrap().contains("form-action 'self'")
    );

    let wrong = api.send(form("name=ada&password=wrong+horse+x")).await;
    assert_eq!(
        (wrong.status.as_u16(), &wrong.headers["location"]),
        (303, &"/sign-in?failed=password".parse().unwrap())
    );
    assert!(api.get("/sign-in?failed=password").await.text.contains("role=\"alert\""));
    let page = api.get("/sign-in?failed=%3Cscript%3E").await;
    assert!(!page.text.contains("<script"), "{}", page.text);

    let good = api.send(form("name=Ada&password=correct+horse")).await;
    assert_eq!(
        (good.status.as_u16(), &good.headers["location"]),
        (303, &"/api/docs".parse().unwrap())
    );
    assert_eq!(api.send(with(&cookie(&good), "GET", "/api/v1/me", None)).await.status, 200);
    let mut foreign = form("name=Ada&password=correct+horse");
    foreign.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    assert_eq!(api.send(foreign).await.status, 403, "no page of others signs anybody in");
}

#[longshore::test(both)]
async fn a_link_signs_in_once(store: TestStore) {
    let (token, code) = (Secret::fresh().unwrap(), Secret::fresh().unwrap());
    let config = ServerConfig {
        process_token: Some(token),
        sign_in_code: Some(code.clone()),
        ..ServerConfig::default()
    };
    let api = Api::with(&store, config);
    let other = format!("code={}", Secret::fresh().unwrap().reveal());
    assert_eq!(api.send(form(&other)).await.headers["location"], "/sign-in?failed=code");
    let path = format!("/sign-in?code={}", code.reveal());
    for _ in 0..2 {
        assert!(api.get(&path).await.text.contains(code.reveal()), "a look changes nothing");
    }
    let body = format!("code={}", code.reveal());
    let good = api.send(form(&body)).await;
    assert_eq!(good.headers["location"], "/api/docs");
    let me = api.send(with(&cookie(&good), "GET", "/api/v1/me", None)).await.json();
    assert_eq!((me["kind"].as_str(), me["role"].as_str()), (Some("process"), Some("admin")));
    assert_eq!(api.send(form(&body)).await.headers["location"], "/sign-in?failed=code", "once");
}
