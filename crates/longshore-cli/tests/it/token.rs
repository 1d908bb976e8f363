//! `token`, and the API that asks for one.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::harness::{Place, Server, both};

both!(
    a_token_is_made_used_listed_and_revoked,
    what_cannot_be_is_refused_with_the_way_out,
    nobody_listens_to_the_world_without_a_token,
    dev_serves_the_api_with_a_token_of_its_own,
);

/// The status that this token gets.
fn status(address: SocketAddr, token: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "GET /api/v1/jobs HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    // It need not read to the end what is too large.
    let _ = socket.write_all(head.as_bytes());
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or("hung up").to_owned()
}

fn a_token_is_made_used_listed_and_revoked(place: Place) {
    let place = place.migrated();
    let said = place.run(&["token", "create", "deploy", "--role", "viewer", "--expires", "30d"]);
    assert_eq!(said.code, 0, "{said:?}");
    let secret = said.out.trim();
    assert!(secret.starts_with("lsh_") && secret.len() == 68, "{said:?}");
    assert!(said.err.contains("it is not shown again"), "{said:?}");

    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("RUST_LOG", "trace");
    let server = Server::start(command);
    let address = server.address();
    assert_eq!(status(address, secret), "200");
    assert_eq!(status(address, &secret.replace(['0', '1', '2', 'a'], "b")), "401");
    // Larger than any head may be.
    let large = status(address, &format!("lsh_{}", "a".repeat(500_000)));
    assert!(["431", "hung up"].contains(&&*large), "{large}");
    assert_eq!(status(address, secret), "200", "and it goes on");

    place.until("its use is noted", || {
        !place.json(&["token", "list"])["tokens"][0]["last_used_at"].is_null()
    });
    let listed = place.json(&["token", "list"]);
    let token = &listed["tokens"][0];
    assert_eq!(
        (&token["name"], &token["state"], &token["role"]),
        (&"deploy".into(), &"live".into(), &"viewer".into())
    );
    assert!(token["created_by"].as_str().unwrap().starts_with("cli:"));
    let shown = place.run(&["token", "list"]).out + &listed.to_string();
    assert!(shown.contains(&secret[..10]) && !shown.contains(&secret[10..]), "{shown}");

    let id = token["id"].as_str().unwrap();
    assert_eq!(place.run(&["token", "revoke", id]).code, 0);
    place.until("it is revoked here too", || status(address, secret) == "401");
    assert!(place.run(&["token", "list"]).out.contains("revoked"));
    server.signal("TERM");
    let log = server.log();
    assert!(!log.contains(&secret[10..]), "the log has the secret");
    assert_eq!(server.ended(), Some(0));
}

fn what_cannot_be_is_refused_with_the_way_out(place: Place) {
    let place = place.migrated();
    for (args, words) in [
        (&["create", "x", "--role", "amdin"][..], "`amdin` is no role; did you mean `admin`?"),
        (
            &["create", "x", "--right", "jobs:raed"],
            "`jobs:raed` is no right; did you mean `jobs:read`?",
        ),
        (&["create", "x"], "--role <ROLE>"),
        (&["create", "x\ny", "--role", "admin"], "name"),
        (&["create", "x", "--role", "admin", "--expires", "soon"], "`soon` is no span of time"),
        (&["create", "x", "--role", "admin", "--expires", "0s"], "expires_in"),
        (&["revoke", "lsh_1234"], "this is no token's id; `longshore token list` shows them"),
    ] {
        let said = place.run(&[&["token"], args].concat());
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.err.contains(words), "{args:?}: {said:?}");
        assert!(!said.err.contains("lsh_1234"), "{said:?}");
    }
    let said = place.run(&["token", "revoke", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert_eq!(place.json(&["token", "list"])["tokens"].as_array().unwrap().len(), 0);
}

fn nobody_listens_to_the_world_without_a_token(place: Place) {
    let place = place.migrated();
    let said = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("`longshore token create NAME --role admin`"), "{said:?}");

    let made = place.json(&["token", "create", "x", "--right", "nodes:read"]);
    let server = Server::start(place.command(&["serve", "--listen", "0.0.0.0:0"]));
    let port = server.address().port();
    let here = SocketAddr::from(([127, 0, 0, 1], port));
    assert_eq!(status(here, made["secret"].as_str().unwrap()), "403");
    assert_eq!(status(here, ""), "401");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));

    place.run(&["token", "revoke", made["id"].as_str().unwrap()]);
    let said = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(said.code, 2, "a revoked token lets nobody in: {said:?}");
}

fn dev_serves_the_api_with_a_token_of_its_own(place: Place) {
    let dev = || {
        let server = Server::start(place.command(&["dev"]));
        server.until_log("/sign-in?code=");
        let log = server.log();
        let (_, rest) = log.split_once("Bearer ").expect("a token");
        let secret = rest[..68].to_owned();
        let (_, rest) = rest.split_once("http://").expect("an address");
        let address: SocketAddr = rest.split('/').next().unwrap().parse().expect("an address");
        (server, address, secret)
    };
    let (first, here, secret) = dev();
    // The port is taken now.
    let (second, there, other) = dev();
    assert!(here.ip().is_loopback() && there.ip().is_loopback() && here != there);
    assert_eq!((status(here, &secret), status(there, &other)), ("200".into(), "200".into()));
    assert_eq!((status(here, &other), status(here, "")), ("401".into(), "401".into()));
    assert_eq!(place.json(&["token", "list"])["tokens"].as_array().unwrap().len(), 0);
    for server in [first, second] {
        server.signal("TERM");
        assert_eq!(server.ended(), Some(0));
    }
    let quiet = Server::start(place.command(&["dev", "--no-http"]));
    quiet.until_log("jobs list");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!quiet.log().contains("Bearer"), "{}", quiet.log());
}
