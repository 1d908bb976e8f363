//! What keeps pages of other origins out.

use longshore::testing::TestStore;
use longshore_server::{Access, Role, ServerConfig};

use crate::harness::{Api, request};

#[longshore::test]
async fn a_page_of_another_origin_changes_nothing_and_reads_nothing(store: TestStore) {
    let api = Api::of(&store);
    for (name, value, status) in [
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("origin", "http://localhost:7878", 201),
        ("sec-fetch-site", "same-origin", 201),
    ] {
        let mut ask = request("POST", "/api/v1/jobs", Some(r#"{"kind": "k"}"#));
        ask.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(api.send(ask).await.status, status, "{name}: {value}");
    }
    let mut read = request("GET", "/api/v1/jobs", None);
    read.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    let answer = api.send(read).await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    let mut ahead = request("OPTIONS", "/api/v1/jobs", None);
    ahead.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    let answer = api.send(ahead).await;
    assert_eq!(answer.status, 405);
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}

#[longshore::test]
async fn a_server_answers_to_its_own_names(store: TestStore) {
    let hosts = Some(vec!["localhost".to_owned(), "jobs.example".to_owned()]);
    let config =
        ServerConfig { access: Access::Open(Role::Admin), hosts, ..ServerConfig::default() };
    let api = Api::with(&store, config);
    for (host, status) in [
        ("localhost:7878", 200),
        ("JOBS.example", 200),
        ("evil.example", 403),
        ("localhost.evil.example:7878", 403),
    ] {
        let mut ask = request("GET", "/api/v1/jobs", None);
        ask.headers_mut().insert("host", host.parse().unwrap());
        assert_eq!(api.send(ask).await.status, status, "{host}");
    }
}

#[longshore::test]
async fn addresses_with_markup_are_inert(store: TestStore) {
    let api = Api::of(&store);
    for path in [
        "/%3Cscript%3Ealert(1)%3C/script%3E",
        "/api/v1/jobs?q=%3Cb%3E",
        "/api/v1/%22%3E%3Cimg",
        "/api/docs/%3Cx%3E",
    ] {
        let answer = api.get(path).await;
        assert!([400, 404].contains(&answer.status.as_u16()), "{answer:?}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(
            answer.headers["content-security-policy"],
            "default-src 'none'; frame-ancestors 'none'"
        );
    }
    let page = api.get("/api/docs").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert!(
        !page.text.contains("https://") && !page.text.contains("http://"),
        "all of it comes from here"
    );
}
