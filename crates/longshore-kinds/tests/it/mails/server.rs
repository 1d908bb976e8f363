//! The scripted server.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

/// One that ends with the test.
pub struct Server {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    pub port: u16,
}

impl Server {
    /// `None`, and a line that says so, where aiosmtpd is missing.
    pub fn start(args: &[&str]) -> Option<Server> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root");
        let tool = root.join("target/tools/bin/aiosmtpd");
        let Ok(tool) = tool.canonicalize() else {
            assert!(std::env::var("CI").is_err(), "aiosmtpd is missing: run scripts/setup-tests");
            println!("left out: mail servers (run scripts/setup-tests)");
            return None;
        };
        let mut child = Command::new(tool.with_file_name("python3"))
            .arg(root.join("crates/longshore-kinds/tests/it/mails/server.py"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python runs");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let port = said.next().expect("a line").expect("text").parse().expect("a port");
        Some(Server { child, said, port })
    }

    /// What it took next.
    pub fn took(&mut self) -> Value {
        let line = self.said.next().expect("it took something").expect("text");
        serde_json::from_str(&line).expect("JSON")
    }

    /// How many connections it has.
    pub fn connections(&self) -> usize {
        let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
        // `local_address rem_address st`; 01: established.
        let local = format!(":{:04X}", self.port);
        let is_ours = |line: &&str| {
            let mut words = line.split_whitespace().skip(1);
            let (address, state) = (words.next(), words.nth(1));
            address.is_some_and(|address| address.ends_with(&local)) && state == Some("01")
        };
        table.lines().filter(is_ours).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
