//! A folder and a database of its own for each test, and the executable in it.

mod postgres;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take; far more than it does.
const PATIENCE: Duration = Duration::from_secs(30);

/// A working folder with its database.
pub struct Place {
    /// What commands go through in place of the database, if anything. It ends before the database goes.
    door: Option<Door>,
    folder: TempDir,
    database: Option<postgres::Database>,
}

/// Stamps each case for both databases. Without a PostgreSQL server its half does nothing; one test
/// says so.
macro_rules! both {
    ($($here:ident),* $(,)?; behind a server, too: $($case:ident),+ $(,)?) => {
        crate::harness::both!($($here,)* $($case,)+);
        crate::harness::behind_a_server!($($case,)+);
    };
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $case() { super::$case(crate::harness::Place::empty()) })+
        }
        mod postgres {
            $(#[test] fn $case() { crate::harness::Place::on_postgres().map_or((), super::$case) })+
        }
    };
}
pub(crate) use both;

/// Stamps cases once more, through a server of each database. Left out are those about what is another thing there,
/// such as who asked, or that no node is live.
macro_rules! behind_a_server {
    ($($case:ident),+ $(,)?) => {
        mod sqlite_behind_a_server {
            $(#[test] fn $case() { super::$case(crate::harness::Place::empty().behind_a_server()) })+
        }
        mod postgres_behind_a_server {
            $(#[test] fn $case() {
                let place = crate::harness::Place::on_postgres();
                place.map_or((), |place| super::$case(place.behind_a_server()))
            })+
        }
    };
}
pub(crate) use behind_a_server;

/// A server that takes part in upkeep and runs nothing, with a token that gives everything.
struct Door {
    _server: Server,
    url: String,
    token: String,
}

/// What one command printed, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    /// The default database: `sqlite:longshore.db` in the folder, without a schema.
    pub fn empty() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Place { door: None, folder, database: None }
    }

    /// A fresh PostgreSQL database; `None` where no server is named.
    pub fn on_postgres() -> Option<Place> {
        Some(Place { database: Some(postgres::Database::fresh()?), ..Place::empty() })
    }

    pub fn is_on_postgres(&self) -> bool {
        self.database.is_some()
    }

    /// From here on, commands that can go through a server do.
    pub fn behind_a_server(self) -> Place {
        let place = self.migrated();
        let token = place.run(&["token", "create", "tests", "--role", "admin"]).out;
        let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "nobodys=1"]);
        let url = format!("http://{}", server.address());
        let door = Door { _server: server, url, token: token.trim().to_owned() };
        Place { door: Some(door), ..place }
    }

    pub fn migrated(self) -> Place {
        assert_eq!(self.run(&["migrate", "up"]).code, 0);
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).expect("a file in the folder");
    }

    /// The executable in the folder, with nothing of this process's settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        command.current_dir(self.path()).args(args);
        for (name, _) in std::env::vars() {
            if name.starts_with("LONGSHORE_") || name == "DATABASE_URL" || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        if let Some(database) = &self.database {
            command.env("LONGSHORE_DATABASE", &database.url);
        }
        if let Some(door) = &self.door {
            // The database stays named, for commands that work on it alone.
            if self.database.is_none() {
                command.env("LONGSHORE_DATABASE", "sqlite:longshore.db");
            }
            command.env("LONGSHORE_URL", &door.url).env("LONGSHORE_TOKEN", &door.token);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        self.said_by(self.command(args))
    }

    pub fn said_by(&self, mut command: Command) -> Said {
        said(command.stdin(Stdio::null()).output().expect("the executable runs"))
    }

    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable runs");
        // It may refuse without reading all of it.
        let _ = child.stdin.take().expect("piped").write_all(stdin);
        said(child.wait_with_output().expect("it ends"))
    }

    /// What a command says with `--json`; it must have worked.
    pub fn json(&self, args: &[&str]) -> Value {
        let said = self.run(&[args, &["--json"]].concat());
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out))
    }

    /// Enqueues, and answers the id.
    pub fn enqueue(&self, args: &[&str]) -> String {
        let said = self.run(&[&["enqueue"], args].concat());
        assert_eq!(said.code, 0, "{said:?}");
        said.out.trim().to_owned()
    }

    pub fn state(&self, id: &str) -> String {
        self.json(&["jobs", "show", id])["state"].as_str().expect("a state").to_owned()
    }

    /// A worker that has joined.
    pub fn serve(&self, args: &[&str]) -> Server {
        let server = Server::start(self.command(&[&["serve"], args].concat()));
        server.until_log("joined");
        server
    }

    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < give_up, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("we print UTF-8");
    Said {
        code: output.status.code().expect("it exits by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A process that goes on until it is told to end, and what it logged and printed so far.
pub struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    out: Arc<Mutex<String>>,
}

/// Reads along, line by line.
fn heard(from: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&text);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut heard = heard.lock().expect("nobody panics here");
            heard.push_str(&line);
            heard.push('\n');
        }
    });
    text
}

impl Server {
    pub fn start(mut command: Command) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable runs");
        let log = heard(child.stderr.take().expect("piped"));
        let out = heard(child.stdout.take().expect("piped"));
        Server { child, log, out }
    }

    /// Where it serves the API, which its log says.
    pub fn address(&self) -> SocketAddr {
        self.until_log("serving the API");
        let log = self.log();
        let (_, rest) = log.split_once("http://").expect("an address");
        let end = rest.find(|c: char| !c.is_ascii_digit() && !".:".contains(c));
        rest[..end.unwrap_or(rest.len())].parse().expect("an address")
    }

    pub fn log(&self) -> String {
        self.log.lock().expect("nobody panics here").clone()
    }

    /// What it printed so far.
    pub fn out(&self) -> String {
        self.out.lock().expect("nobody panics here").clone()
    }

    pub fn until_log(&self, text: &str) {
        let give_up = Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            assert!(Instant::now() < give_up, "`{text}` never came: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.expect("`kill` runs").success());
    }

    /// Waits for the end; its exit code, or `None` if a signal ended it.
    pub fn ended(mut self) -> Option<i32> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().expect("our own child") {
                Some(status) => return status.code(),
                None => {
                    assert!(Instant::now() < give_up, "it does not end: {}", self.log());
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
