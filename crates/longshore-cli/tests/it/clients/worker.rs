//! A server that can be killed and started again at its address, and workers of a client beside it.

use std::net::SocketAddr;

use super::language::Tools;
use super::runs::Runs;
use crate::harness::{Place, Server};

pub struct Pier<'a> {
    pub place: &'a Place,
    tools: &'a Tools,
    address: SocketAddr,
    server: Option<Server>,
    pub token: String,
    pub runs: Runs,
}

impl<'a> Pier<'a> {
    /// Its server runs nothing that workers are for, and rescues within a second.
    pub fn open(place: &'a Place, tools: &'a Tools) -> Pier<'a> {
        // The limit of requests has tests of its own; many workers share one token here.
        place.write("longshore.toml", "[http]\nrate = 100000\nburst = 100000\n");
        assert_eq!(place.run(&["migrate", "up"]).code, 0);
        let token = place.run(&["token", "create", "workers", "--role", "admin"]).out;
        let server = serve(place, "127.0.0.1:0");
        let runs = Runs(place.path().join("runs.jsonl"));
        let (address, token) = (server.address(), token.trim().to_owned());
        Pier { place, tools, address, server: Some(server), token, runs }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn kill_server(&mut self) {
        let server = self.server.take().expect("it runs");
        server.signal("KILL");
        assert_eq!(server.ended(), None);
    }

    pub fn start_server(&mut self) {
        self.server = Some(serve(self.place, &self.address.to_string()));
    }

    /// A worker that has joined. `settings`: `SLOTS`, `LEASE` and `GRACE` in seconds, `LONGSHORE_URL`.
    pub fn worker(&self, settings: &[(&str, &str)]) -> Server {
        let mut command = self.tools.worker();
        command.env("LONGSHORE_URL", self.url()).env("LONGSHORE_TOKEN", &self.token);
        command.env("RUNS", &self.runs.0).envs(settings.iter().copied());
        let worker = Server::start(command);
        self.place.until("the worker has joined", || said(&worker).contains("joined as node"));
        worker
    }

    /// A job of a worker's program, and that it runs.
    pub fn running(&self, args: &[&str]) -> String {
        let id = self.place.enqueue(args);
        self.place.until("it runs", || self.runs.of(&id).iter().any(|run| run.over.is_none()));
        id
    }

    pub fn until_state(&self, id: &str, state: &str) {
        self.place.until(state, || self.place.state(id) == state);
    }
}

/// All that a worker has said, on both ways.
pub fn said(worker: &Server) -> String {
    worker.log() + &worker.out()
}

fn serve(place: &Place, address: &str) -> Server {
    place.serve(&["--listen", address, "--queue", "nobodys=1", "--lease", "2s"])
}
