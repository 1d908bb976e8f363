//! Tokens: what each may do, and that all others are refused alike.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use longshore::Client;
use longshore::access::{NewToken, Secret};
use longshore::testing::TestStore;
use longshore_server::{Access, Rate, Right, Role, ServerConfig};

use crate::harness::{Answer, Api, request};
use crate::rights::routes;

const ROUTE: &str = "/api/v1/jobs";

async fn made(client: &Client, token: NewToken) -> Secret {
    client.create_token(token).await.expect("a token").secret
}

fn with(mut request: Request<Body>, value: &str) -> Request<Body> {
    let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header");
    request.headers_mut().append("authorization", value);
    request
}

async fn ask(api: &Api, secret: &Secret) -> Answer {
    api.send(with(request("GET", ROUTE, None), &format!("Bearer {}", secret.reveal()))).await
}

fn closed(store: &TestStore) -> Api {
    Api::with(store, ServerConfig::default())
}

/// The answer without what differs from request to request.
fn said(answer: &Answer) -> (u16, Option<HeaderValue>, serde_json::Value) {
    let mut body = answer.json();
    body.as_object_mut().unwrap().remove("request_id");
    (answer.status.as_u16(), answer.headers.get("www-authenticate").cloned(), body)
}

#[longshore::test(both)]
async fn a_token_may_do_what_its_role_and_rights_say_and_nothing_else(store: TestStore) {
    let (client, api) = (store.client(), closed(&store));
    let mut tokens = Vec::new();
    for role in Role::ALL {
        let secret = made(&client, NewToken::new("role", "test").role(role.as_str())).await;
        tokens.push((
            secret,
            Box::new(move |right| role.has(right)) as Box<dyn Fn(Right) -> bool + Send + Sync>,
        ));
    }
    for one in Right::ALL {
        let secret = made(&client, NewToken::new("right", "test").right(one.as_str())).await;
        tokens.push((secret, Box::new(move |right| right == *one)));
    }
    let both = NewToken::new("both", "test").role("viewer").right("jobs:delete");
    let may = |right: Right| Role::Viewer.has(right) || right == Right::JobsDelete;
    tokens.push((made(&client, both).await, Box::new(may)));
    // Words that nobody knows, and none at all.
    let odd = NewToken::new("odd", "test").role("emperor").right("*").right("jobs");
    tokens.push((made(&client, odd).await, Box::new(|_| false)));

    for (secret, may) in &tokens {
        for (method, path, right) in routes() {
            let asked = with(request(&method, &path, None), &format!("Bearer {}", secret.reveal()));
            let answer = api.send(asked).await;
            assert_ne!(answer.status, 401, "{method} {path}");
            assert_eq!(answer.status != 403, may(right), "{method} {path}: {answer:?}");
        }
    }
}

#[longshore::test(both)]
async fn wrong_expired_and_revoked_are_one_answer(store: TestStore) {
    let (client, api) = (store.client(), closed(&store));
    let good = client.create_token(NewToken::new("good", "test").role("viewer")).await.unwrap();
    let expired = made(
        &client,
        NewToken::new("old", "test").role("admin").expires_in(Duration::from_secs(60)),
    )
    .await;
    let revoked = client.create_token(NewToken::new("gone", "test").role("admin")).await.unwrap();
    client.revoke_token(revoked.id).await.unwrap();
    store.clock().advance(Duration::from_secs(61));
    assert_eq!(ask(&api, &good.secret).await.status, 200);

    let other = good.secret.reveal().replace(['a', 'b', 'c', 'd', '0', '1'], "e");
    let wrong = said(&ask(&api, &Secret::read(&other).unwrap()).await);
    assert_eq!(
        (wrong.0, wrong.1.as_ref().unwrap().to_str().unwrap()),
        (401, "Bearer error=\"invalid_token\"")
    );
    assert_eq!(said(&ask(&api, &expired).await), wrong);
    assert_eq!(said(&ask(&api, &revoked.secret).await), wrong);

    let long = format!("Bearer lsh_{}", "a".repeat(500_000));
    let good = good.secret.reveal();
    for header in [
        "Bearer",
        "Bearer ",
        "Bearer lsh_",
        "Bearer lsh_ä",
        "Basic YTpi",
        "ü",
        good,
        &long,
        &format!("Bearer {good}0"),
        &format!("Bearer {good} {good}"),
        &format!("Token {good}"),
        &format!("Bearer {}", good.to_uppercase()),
        "Bearer ' or 1=1 --",
    ] {
        let answer = api.send(with(request("GET", ROUTE, None), header)).await;
        let shown: String = header.chars().take(80).collect();
        assert_eq!(said(&answer), wrong, "{shown}");
    }
    // Two at once: nobody may choose which counts.
    let twice = with(request("GET", ROUTE, None), &format!("Bearer {good}"));
    assert_eq!(said(&api.send(with(twice, &format!("Bearer {good}"))).await), wrong);
}

#[longshore::test(both)]
async fn a_revoked_token_stops_within_five_seconds(store: TestStore) {
    let (client, api) = (store.client(), closed(&store));
    let token = client.create_token(NewToken::new("n", "test").role("viewer")).await.unwrap();
    assert_eq!(ask(&api, &token.secret).await.status, 200);

    client.revoke_token(token.id).await.unwrap();

    let began = Instant::now();
    while ask(&api, &token.secret).await.status != 401 {
        assert!(began.elapsed() < Duration::from_secs(5), "it still works");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ask(&api, &token.secret).await.status, 401);
}

#[longshore::test(both)]
async fn a_token_that_asks_too_much_is_told_when_to_come_again(store: TestStore) {
    let rate = Rate { per_second: 1, burst: 3 };
    let api = Api::with(&store, ServerConfig { rate, ..ServerConfig::default() });
    let client = store.client();
    let busy = made(&client, NewToken::new("busy", "test").role("viewer")).await;
    let calm = made(&client, NewToken::new("calm", "test").role("viewer")).await;
    for _ in 0..3 {
        assert_eq!(ask(&api, &busy).await.status, 200);
    }
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(ask(&api, &busy).await);
    }
    let refused = answers.iter().find(|answer| answer.status == 429).expect("it is held up");
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.problem().1, "too_many_requests");
    assert_eq!(ask(&api, &calm).await.status, 200, "others are not held up");
}

#[longshore::test(both)]
async fn a_use_is_noted(store: TestStore) {
    let (client, api) = (store.client(), closed(&store));
    let secret = made(&client, NewToken::new("n", "test").role("viewer")).await;
    assert_eq!(client.tokens().await.unwrap()[0].last_used_at, None);
    ask(&api, &secret).await;
    let began = Instant::now();
    while client.tokens().await.unwrap()[0].last_used_at.is_none() {
        assert!(began.elapsed() < Duration::from_secs(5), "nobody noted it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[longshore::test(both)]
async fn a_token_counts_where_others_need_none(store: TestStore) {
    let access = Access::Open(Role::Admin);
    let api = Api::with(&store, ServerConfig { access, ..ServerConfig::default() });
    let secret = made(&store.client(), NewToken::new("n", "test").right("nodes:read")).await;
    assert_eq!(ask(&api, &secret).await.status, 403, "not more than it says");
    // What stands before this router may have asked for a password.
    let basic = with(request("GET", ROUTE, None), "Basic YTpi");
    assert_eq!(api.send(basic).await.status, 200);
    let broken = with(request("GET", ROUTE, None), "Bearer lsh_1");
    assert_eq!(api.send(broken).await.status, 401);
}

#[longshore::test(both)]
async fn a_process_may_have_a_token_of_its_own(store: TestStore) {
    let ours = Secret::fresh().unwrap();
    let config = ServerConfig { process_token: Some(ours.clone()), ..ServerConfig::default() };
    let api = Api::with(&store, config);
    assert_eq!(ask(&api, &ours).await.status, 200);
    assert_eq!(ask(&api, &Secret::fresh().unwrap()).await.status, 401);
    assert_eq!(ask(&closed(&store), &ours).await.status, 401, "it counts nowhere else");
    assert_eq!(store.client().tokens().await.unwrap(), []);
}

#[longshore::test(both)]
async fn no_answer_says_the_secret(store: TestStore) {
    let (client, api) = (store.client(), closed(&store));
    let secret = made(&client, NewToken::new("n", "test").right("nodes:read")).await;
    let digits = &secret.reveal()[10..];
    for (method, path, _) in routes() {
        let asked = with(request(&method, &path, None), &format!("Bearer {}", secret.reveal()));
        let answer = api.send(asked).await;
        assert!(!answer.text.contains(digits) && !format!("{:?}", answer.headers).contains(digits));
    }
}
