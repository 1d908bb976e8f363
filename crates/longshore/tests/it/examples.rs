//! The examples, run as their words say.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// An example beside this test; all are built with the tests.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("this program");
    let target: PathBuf = test.ancestors().nth(2).expect("target/debug").into();
    let program = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "build it: cargo build -p longshore --example {name} --all-features");
    Command::new(program)
}

/// Runs it to its end; answers its lines.
fn lines_of(name: &str) -> Vec<String> {
    let Output { status, stdout, stderr } = example(name).output().expect("it starts");
    let said = String::from_utf8(stdout).expect("text");
    assert!(status.success(), "{name}: {status}\n{said}{}", String::from_utf8_lossy(&stderr));
    said.lines().map(str::to_owned).collect()
}

#[test]
fn hello_says_hello() {
    assert_eq!(lines_of("hello"), ["hello, Ada"]);
}

#[test]
fn a_graceful_stop_loses_nothing() {
    let wanted = [
        "stopping",
        "long: told to stop (Shutdown), kept its place",
        "stopped",
        "short: finished while the worker drained",
        "long: queued, 0 attempts used",
        "long: went on where it was, attempt 1",
    ];
    assert_eq!(lines_of("graceful_stop"), wanted);
}

#[test]
fn middleware_stands_around_handlers() {
    let wanted = [
        "layer: greet, attempt 1",
        r#"hello, Ada {"from":"web"}"#,
        "hook: greet is succeeded: no error",
        "layer: crawl, attempt 1",
        "hook: crawl is dead: request timed out",
    ];
    assert_eq!(lines_of("middleware"), wanted);
}

#[cfg(feature = "testing")]
#[test]
fn the_test_kits_story_is_told() {
    let said = lines_of("testing");
    assert!(said.contains(&"-- all ten attempts".to_owned()), "{said:#?}");
    assert!(said.contains(&"runs 11".to_owned()), "{said:#?}");
}

/// One request on a connection of its own; answers the status and the body.
#[cfg(unix)]
fn post(address: &str, json: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(address).expect("the example listens");
    let length = json.len();
    let request = format!(
        "POST /orders HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{json}"
    );
    socket.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (status, body.to_owned())
}

#[cfg(unix)]
#[test]
fn an_order_and_its_email_are_one() {
    let mut shop = example("axum_transaction")
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(shop.stdout.take().expect("its lines")).lines();
    let mut line = move || lines.next().map(|line| line.expect("text"));
    let url = line().expect("its address");
    let address = url.trim_start_matches("http://").trim_end_matches("/orders").to_owned();

    let order = |id: u32| format!(r#"{{"id": {id}, "to": "ada@example.com"}}"#);
    for id in [7, 8] {
        assert_eq!(post(&address, &order(id)).0, 201);
        assert_eq!(line(), Some(format!("to ada@example.com: thank you for order {id}")));
    }
    // This id is taken: the order fails before its e-mail is enqueued.
    assert_eq!(post(&address, &order(7)).0, 500);
    assert_eq!(post(&address, &order(9)).0, 201);
    assert_eq!(line(), Some("to ada@example.com: thank you for order 9".to_owned()));
    // Nothing is left: this one fails after its e-mail was enqueued, which is then not sent.
    assert_eq!(post(&address, &order(10)), (409, "sold out\n".to_owned()));

    let stop = Command::new("kill").args(["-INT", &shop.id().to_string()]).status();
    assert!(stop.expect("kill runs").success());
    assert_eq!(line(), Some("stopped".to_owned()), "and no e-mail before that");
    assert!(shop.wait().expect("it ends").success());
}
