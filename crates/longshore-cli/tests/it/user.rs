//! `user`, and signing in to the server with what it made.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::harness::{Place, Server, both};

both!(a_user_is_made_signs_in_is_changed_and_removed, what_cannot_be_a_user_is_refused);

fn sign_in(address: SocketAddr, password: &str) -> String {
    let body = format!(r#"{{"name": "ada", "password": "{password}"}}"#);
    let mut socket = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST /api/v1/sessions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    answer.split(' ').nth(1).expect("a status").to_owned()
}

fn a_user_is_made_signs_in_is_changed_and_removed(place: Place) {
    let place = place.migrated();
    let made = place.run_with(
        &["user", "create", "Ada", "--role", "operator", "--password-stdin"],
        b"correct horse\n",
    );
    assert_eq!((made.code, made.out.trim()), (0, "ada is added"), "{made:?}");
    let server = Server::start(place.command(&["serve", "--listen", "127.0.0.1:0"]));
    let address = server.address();
    assert_eq!(sign_in(address, "correct horse"), "201");
    assert_eq!(sign_in(address, "correct horsE"), "401");

    let listed = place.json(&["user", "list"]);
    assert_eq!(listed["users"][0]["role"], "operator");
    assert!(
        !listed["users"][0]["signed_in_at"].is_null() && !listed.to_string().contains("argon2")
    );
    let said = place.run(&["user", "change", "ada", "--disable"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(sign_in(address, "correct horse"), "401");
    let change = ["user", "change", "ada", "--enable", "--role", "admin", "--password-stdin"];
    assert_eq!(place.run_with(&change, b"another horse").code, 0);
    assert_eq!(sign_in(address, "another horse"), "201");
    assert_eq!(place.run(&["user", "remove", "ADA"]).out.trim(), "ada is removed");
    assert_eq!(sign_in(address, "another horse"), "401");
    assert_eq!(place.run(&["user", "remove", "ada"]).code, 3);

    let trail = place.run(&["audit", "tail", "--json"]).out;
    for action in ["users.create", "users.change", "users.remove", "sessions.create"] {
        assert!(trail.contains(action), "{action}: {trail}");
    }
    for secret in ["horse", "argon2"] {
        assert!(!trail.contains(secret) && !server.log().contains(secret));
    }
}

fn what_cannot_be_a_user_is_refused(place: Place) {
    let place = place.migrated();
    let create = ["user", "create", "ada", "--role", "viewer", "--password-stdin"];
    let short = place.run_with(&create, b"short\n");
    assert_eq!(short.code, 2);
    assert!(short.err.contains("10 characters") && !short.err.contains("short"), "{short:?}");
    let said = place.run(&["user", "create", "ada", "--role", "viewer"]);
    assert_eq!((said.code, said.err.contains("--password-stdin")), (2, true), "{said:?}");
    assert_eq!(place.run_with(&create, b"correct horse").code, 0);
    let again = place.run_with(&create, b"correct horse");
    assert_eq!(again.code, 4, "{again:?}");
    let role =
        place.run_with(&["user", "create", "b", "--role", "admni", "--password-stdin"], b"x");
    assert!(role.code == 2 && role.err.contains("did you mean `admin`"), "{role:?}");
}
