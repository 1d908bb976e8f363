//! Processes of their own: what dies, and what burns.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use longshore::job::AttemptFault;
use longshore::{Run, State};

use super::*;

const DATABASE: &str = "LONGSHORE_TEST_CHILD_DATABASE";
const HANDLE: &str = "LONGSHORE_TEST_CHILD_HANDLE";

/// Not a test of its own: what another process of a test does, until it is killed.
#[test]
fn another_process_serves() {
    let Ok(url) = std::env::var(DATABASE) else { return };
    block_on(async {
        let client = Client::open(&url).await.expect("a client");
        let worker = Worker::new(client)
            .config(short())
            .queue("default", 10)
            .handle("aborts", async |_: Run| -> () { std::process::abort() })
            .handle("long", async |_: Run| std::future::pending::<()>().await)
            .handle("here", async |_: Run| {})
            .start()
            .expect("a worker");
        // Dropped or kept, it serves.
        let _kept = std::env::var(HANDLE).is_err().then_some(worker);
        std::future::pending::<()>().await;
    });
}

/// A process that serves; killed at the end.
struct Other(Child);

impl Other {
    fn start(url: &str, handle_is_dropped: bool) -> Other {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["worker::processes::another_process_serves", "--exact", "--nocapture"])
            .env(DATABASE, url)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if handle_is_dropped {
            command.env(HANDLE, "dropped");
        }
        Other(command.spawn().expect("a process"))
    }

    /// The processor time it has used.
    fn used(&self) -> Duration {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it lives");
        let fields = stat.rsplit_once(')').expect("a name in brackets").1;
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|n| n.parse::<u64>().expect("ticks"))
            .sum();
        // A hundred a second on every Linux there is.
        Duration::from_millis(ticks * 10)
    }

    /// What part of one processor it uses, measured over two seconds.
    async fn share(&self) -> f64 {
        let (before, from) = (self.used(), Instant::now());
        tokio::time::sleep(2 * SECOND).await;
        (self.used() - before).as_secs_f64() / from.elapsed().as_secs_f64()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub async fn a_job_that_kills_its_process_dies_in_the_end(d: Arc<Desk>) {
    let ahead = d.ahead().await;
    let id = d.enqueue(NewJob::new("aborts").max_attempts(3)).await;
    for attempt in 1..=3 {
        let mut other = Other::start(&d.t.database.url(), false);
        until("the process is gone", async || other.0.try_wait().expect("a child").is_some()).await;
        let row = d.get(id).await;
        assert_eq!((row.state, row.attempt), (State::Running, attempt));
        ahead.rescue().await.expect("a rescue");
    }

    let row = d.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Dead, 3));
    assert_eq!(row.errors.len(), 3);
    assert!(row.errors.iter().all(|error| error.kind == AttemptFault::NodeLost));
    ahead.close().await;
}

pub async fn a_killed_nodes_jobs_start_elsewhere(d: Arc<Desk>) {
    let id = d.enqueue(NewJob::new("long")).await;
    let other = Other::start(&d.t.database.url(), false);
    d.comes_to(id, State::Running).await;
    let here = d.worker().handle("long", async |_: Run| {}).start().expect("a worker");

    drop(other);
    let killed = Instant::now();
    let row = d.comes_to(id, State::Succeeded).await;

    assert!(killed.elapsed() < 3 * LEASE, "{:?}", killed.elapsed());
    assert_eq!((row.attempt, row.errors.len()), (2, 1));
    here.stop().await;
}

pub async fn a_worker_whose_handle_is_dropped_serves_and_rests(d: Arc<Desk>) {
    let other = Other::start(&d.t.database.url(), true);
    let id = d.enqueue(NewJob::new("here")).await;
    d.comes_to(id, State::Succeeded).await;

    let share = other.share().await;
    assert!(share < 0.3, "{share:.2} of a processor, with nothing to do");
    let next = d.enqueue(NewJob::new("here")).await;
    d.comes_to(next, State::Succeeded).await;
}

/// One that runs something, whose database goes away for longer than its lease.
#[cfg(feature = "postgres")]
pub async fn a_node_without_its_database_burns_no_processor(d: Arc<Desk>) {
    use crate::harness::proxy::Way;
    let (proxy, url) = super::cut::door(&d).await;
    let id = d.enqueue(NewJob::new("long")).await;
    let other = Other::start(&url, false);
    d.comes_to(id, State::Running).await;
    for way in [Way::Shut, Way::Swallows] {
        proxy.set(way);
        // Told to stop, then cut off, then waiting for the database.
        tokio::time::sleep(LEASE + SECOND).await;
        let share = other.share().await;
        assert!(share < 0.3, "{share:.2} of a processor, with the database away");
        proxy.set(Way::Open);
        d.comes_to(id, State::Running).await;
    }
}

/// The same on a file that somebody keeps locked: there it is tried again all the time, which costs.
pub async fn a_node_whose_file_is_locked_burns_little(d: Arc<Desk>) {
    let id = d.enqueue(NewJob::new("long")).await;
    let other = Other::start(&d.t.database.url(), false);
    d.comes_to(id, State::Running).await;
    let lock = d.t.transaction().await;
    tokio::time::sleep(LEASE + SECOND).await;
    let share = other.share().await;
    lock.roll_back().await;
    assert!(share < 0.6, "{share:.2} of a processor, with the file locked");
}
