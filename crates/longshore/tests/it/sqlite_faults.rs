//! A disk that is full or takes no writes: every call fails whole and in SQLite's own words, and works
//! again when the disk does, with nobody opening anything anew. The disk is a small one of its own,
//! which only root may mount; elsewhere these tests say that they are left out.

use std::future::Future;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use longshore::store::{Ack, Claim, Part, Repeat, StoreError};
use longshore::{Client, Clock, Limits, State, Timestamp, Unique, Worker, WorkerConfig, Working};
use tokio_util::sync::CancellationToken;

use crate::harness::*;

const FULL: &str = "database or disk is full";
const READ_ONLY: &str = "attempt to write a readonly database";
const LONGEST_CASE: Duration = Duration::from_secs(90);

/// A disk of 4 MiB.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Option<Disk> {
        let disk = Disk(at);
        disk.run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).then_some(disk)
    }

    /// Runs `program` on it, which answers whether that went well.
    fn run(&self, program: &str, args: &[&str]) -> bool {
        let ran = Command::new(program).args(args).arg(&self.0).output();
        ran.is_ok_and(|ran| ran.status.success())
    }

    fn fill(&self) {
        let mut ballast = std::fs::File::create(self.0.join("ballast")).expect("a file");
        while ballast.write_all(&[0; 4_096]).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("ballast")).expect("the ballast is there");
    }

    fn may_write(&self, may: bool) {
        let how = if may { "remount,rw" } else { "remount,ro" };
        assert!(self.run("mount", &["-o", how]), "{how}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}

/// Runs `case` with a store on such a disk.
fn on_small_disk<F: Future<Output = ()>>(clock: Clock, case: impl FnOnce(Harness, Arc<Disk>) -> F) {
    block_on(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let Some(disk) = Disk::mount(folder.path().into()) else {
            println!("left out: a disk of its own cannot be mounted here, it takes root");
            return;
        };
        let (disk, database) = (Arc::new(disk), Arc::new(Database::Sqlite(folder)));
        let store = longshore::store::open(&database.url(), database.options(clock.clone()))
            .await
            .expect("the store opens");
        store.migrate().await.expect("the schema migrates");
        let t = Harness { store, clock, database: database.clone() };
        let case = tokio::time::timeout(LONGEST_CASE, case(t.clone(), disk.clone()));
        let ended = AssertUnwindSafe(case).catch_unwind().await;
        t.remove().await;
        drop(disk);
        match ended {
            Ok(in_time) => in_time.expect("the test ends in time"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
}

#[track_caller]
fn fails<T: std::fmt::Debug>(answer: Result<T, StoreError>, words: &str) {
    let Err(StoreError::Unavailable { source, .. }) = &answer else { panic!("{answer:?}") };
    assert!(source.to_string().contains(words), "{source}");
}

/// With their payloads aside, 4 MB of them, and every other one with a key.
fn large(name: &str) -> Vec<longshore::NewJob> {
    let payload = format!("\"{}\"", "x".repeat(20_000));
    let job = |n: usize| {
        let job = job().payload(&*payload).queue("large");
        if n.is_multiple_of(2) { job.unique(Unique::key(format!("{name}-{n}"))) } else { job }
    };
    (0..200).map(job).collect()
}

/// A call that makes a part of it first and never gets room for the rest.
async fn in_parts(t: &Harness, parts: Vec<Vec<longshore::NewJob>>) -> Result<usize, StoreError> {
    let (send, receive) = tokio::sync::mpsc::channel(1);
    let store = t.store.clone();
    let call = tokio::spawn(async move { store.enqueue_parts(receive).await });
    for part in parts {
        let _ = send.send(Part::Jobs(part)).await;
    }
    let _ = send.send(Part::End).await;
    Ok(call.await.expect("no panic")?.len())
}

const TABLES: [&str; 5] = ["job", "payload", "history", "unique_key", "node"];

/// How many rows every table has; and the file is whole.
async fn rows(t: &Harness) -> Vec<i64> {
    let faults = "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'";
    assert_eq!(t.number(faults.into()).await, 0, "the file is damaged");
    let mut rows = Vec::new();
    for table in TABLES {
        rows.push(t.count(table).await);
    }
    rows
}

async fn claim(node: &Node) -> Result<usize, StoreError> {
    let (queues, kinds) =
        ([ask("default", 5)], [longshore::store::KindAsk { kind: KIND.into(), version: 1 }]);
    let claim =
        Claim { node: node.id, no: node.next_no(), queues: &queues, kinds: &kinds, most: None };
    Ok(node.store.claim(&claim).await?.jobs.len())
}

#[test]
fn a_full_disk_refuses_whole_calls_and_they_work_later() {
    on_small_disk(Clock::manual(Timestamp::now()), async |t: Harness, disk: Arc<Disk>| {
        let node = t.node().await;
        t.enqueue_all(&jobs(20)).await;
        let run = node.claim_one().await;
        let ended = [(run.held(), done_with(&format!("\"{}\"", "y".repeat(9_000))))];
        let before = rows(&t).await;
        let all = large("a");
        let parts = || all.chunks(50).map(<[_]>::to_vec).collect::<Vec<_>>();

        disk.fill();
        // Again and again: a failed call leaves nothing behind that the next one stumbles over.
        for _ in 0..3 {
            fails(t.store.enqueue(&jobs(100), Repeat::No).await, FULL);
            fails(t.store.enqueue(&all[..50], Repeat::Yes).await, FULL);
            fails(in_parts(&t, parts()).await, FULL);
            fails(t.store.finish(node.id, &ended).await, FULL);
            fails(claim(&node).await, FULL);
            fails(t.store.enqueue(&all[..1], Repeat::No).await, FULL);
        }
        assert_eq!(rows(&t).await, before, "nothing half-written");
        assert_eq!(t.state(run.id).await, State::Running);

        disk.make_room();
        // Room for a part of these, so that they fail in their midst.
        fails(t.store.enqueue(&all, Repeat::No).await, FULL);
        fails(in_parts(&t, parts()).await, FULL);
        assert_eq!(rows(&t).await, before, "nothing half-written");
        assert_eq!(t.finish_all(node.id, &ended).await, [Ack::Recorded(State::Succeeded)]);
        assert_eq!(claim(&node).await.expect("a claim"), 5);
        t.enqueue_all(&all[..10]).await;
        assert_eq!(in_parts(&t, vec![jobs(10), jobs(10)]).await.expect("room"), 20);
        assert!(t.enqueue_all(&all[..10]).await.iter().all(|answer| answer.is_duplicate()));
        rows(&t).await;
    });
}

/// As after a crash: the side files are there, the disk is not to be written.
#[test]
fn a_store_opened_on_a_read_only_disk_writes_when_it_may() {
    on_small_disk(Clock::manual(Timestamp::now()), async |t: Harness, disk: Arc<Disk>| {
        let node = t.node().await;
        t.enqueue_all(&jobs(20)).await;
        let run = node.claim_one().await;
        let before = rows(&t).await;
        let names = ["t.db", "t.db-wal", "t.db-shm"].map(|name| disk.0.join(name));
        let crashed = names.clone().map(|name| std::fs::read(name).expect("a side file"));
        t.store.close().await;
        for (name, bytes) in names.iter().zip(crashed) {
            std::fs::write(name, bytes).expect("it is written back");
        }
        disk.may_write(false);

        let t = Harness { store: t.beside().await, ..t };
        let node = Node { store: t.store.clone(), ..node };
        let ended = [(run.held(), done())];
        for _ in 0..3 {
            fails(t.store.enqueue(&[job()], Repeat::No).await, READ_ONLY);
            fails(t.store.enqueue(&large("a")[..9], Repeat::No).await, READ_ONLY);
            fails(in_parts(&t, vec![jobs(10), jobs(10)]).await, READ_ONLY);
            fails(t.store.finish(node.id, &ended).await, READ_ONLY);
            fails(claim(&node).await, READ_ONLY);
            assert_eq!(t.state(run.id).await, State::Running, "it can be read");
        }

        disk.may_write(true);
        // A call that still meets an old connection fails; it closes them, but for one that somebody has in hand.
        for _ in 0..50 {
            if t.store.enqueue(&[], Repeat::No).await.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(rows(&t).await, before, "nothing half-written");
        assert_eq!(t.finish_all(node.id, &ended).await, [Ack::Recorded(State::Succeeded)]);
        assert_eq!(claim(&node).await.expect("a claim"), 5);
        assert_eq!(in_parts(&t, vec![jobs(10), jobs(10)]).await.expect("it writes"), 20);
        t.store.close().await;
    });
}

/// A worker whose handlers wait at a gate.
struct Gated {
    client: Client,
    worker: Working,
    gate: CancellationToken,
    starts: Arc<AtomicUsize>,
}

/// Thirty jobs, of which ten have started and wait.
async fn ten_run(t: &Harness, config: WorkerConfig) -> Gated {
    let options = t.database.options(Clock::real());
    let client = Client::open_with(&t.database.url(), options, Limits::default()).await;
    let client = client.expect("a client");
    let (gate, starts) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let (pass, begun) = (gate.clone(), starts.clone());
    let worker = Worker::new(client.clone())
        .config(config)
        .queue("default", 10)
        .handle(KIND, move |_| {
            begun.fetch_add(1, Ordering::SeqCst);
            let pass = pass.clone();
            async move { pass.cancelled().await }
        })
        .start()
        .expect("a worker");
    client.enqueue_many(jobs(30)).await.expect("jobs");
    t.until("ten run", || async { starts.load(Ordering::SeqCst) == 10 }).await;
    Gated { client, worker, gate, starts }
}

#[test]
fn a_worker_keeps_its_results_while_the_disk_is_full() {
    on_small_disk(Clock::real(), async |t: Harness, disk: Arc<Disk>| {
        let config = WorkerConfig { poll_every: 200 * MILLI, ..WorkerConfig::default() };
        let Gated { client, worker, gate, starts } = ten_run(&t, config).await;

        disk.fill();
        gate.cancel();
        t.until("all ended", || async { worker.health().unwritten >= 10 }).await;
        fails(client.enqueue(job().payload(format!("\"{}\"", "x".repeat(9_000)))).await, FULL);
        // Time itself: some tries in vain.
        tokio::time::sleep(2 * SECOND).await;
        assert_eq!(t.count("history").await, 0, "nothing is written");
        assert!(worker.health().unwritten >= 10, "the results are kept");
        disk.make_room();

        t.until("all are written", || async { t.count("history").await == 30 }).await;
        assert_eq!(starts.load(Ordering::SeqCst), 30, "nothing ran twice");
        assert_eq!(t.number("SELECT max(attempt) FROM longshore_history".into()).await, 1);
        assert_eq!(worker.health().lost_leases_total, 0);
        worker.stop().await;
        client.close().await;
    });
}

/// FC-074, the minute scaled down: the node cannot say that it lives, stops its handlers in time, and
/// serves again when there is room.
#[test]
fn a_disk_that_is_full_for_longer_than_a_lease_costs_no_job() {
    on_small_disk(Clock::real(), async |t: Harness, disk: Arc<Disk>| {
        let lease = 3 * SECOND;
        let config = WorkerConfig {
            lease_for: lease,
            heartbeat_every: 500 * MILLI,
            stop_margin: 500 * MILLI,
            poll_every: 200 * MILLI,
            ..WorkerConfig::default()
        };
        let Gated { client, worker, gate, .. } = ten_run(&t, config).await;

        disk.fill();
        t.until("it says that it is not well", || async { !worker.health().ready }).await;
        // Time itself: a lease and more.
        tokio::time::sleep(2 * lease).await;
        fails(client.enqueue(job().payload(format!("\"{}\"", "x".repeat(9_000)))).await, FULL);
        assert_eq!(t.count("job").await, 30, "nothing half-written");
        assert_eq!(t.count("history").await, 0, "nothing half-written");
        disk.make_room();
        gate.cancel();

        t.until("all are written", || async { t.count("history").await == 30 }).await;
        rows(&t).await;
        t.until("it is well", || async { worker.health().ready }).await;
        client.enqueue(job()).await.expect("there is room");
        t.until("and works", || async { t.count("history").await == 31 }).await;
        worker.stop().await;
        client.close().await;
    });
}

/// Takes the right to write from a file that is open, or gives it back; only ext4 and its like can.
fn freeze(file: &std::path::Path, frozen: bool) -> bool {
    let how = if frozen { "+i" } else { "-i" };
    let ran = Command::new("chattr").arg(how).arg(file).output();
    ran.is_ok_and(|ran| ran.status.success())
}

/// Gives the right back however the test ends: such a file cannot even be deleted.
struct Frozen(Vec<PathBuf>);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.iter().for_each(|file| {
            freeze(file, false);
        });
    }
}

/// FC-074: writes are refused under open files, as when the kernel makes a disk with errors read-only.
/// (Asked politely, it makes no disk read-only that somebody has open to write.)
#[test]
fn open_files_that_take_no_writes_refuse_whole_calls_and_they_work_later() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let node = t.node().await;
        t.enqueue_all(&jobs(20)).await;
        let run = node.claim_one().await;
        let ended = [(run.held(), done())];
        let before = rows(&t).await;
        let url = t.database.url();
        let path = url.strip_prefix("sqlite:").expect("a file");
        let files = ["", "-wal"].map(|end| PathBuf::from(format!("{path}{end}")));
        let frozen = Frozen(files.to_vec());
        if !files.iter().all(|file| freeze(file, true)) {
            println!("left out: files cannot be frozen here, it takes root and ext4 or its like");
            return;
        }

        let refused = |answer: Result<(), StoreError>| {
            assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{answer:?}");
        };
        for _ in 0..3 {
            refused(t.store.enqueue(&jobs(3), Repeat::No).await.map(drop));
            refused(in_parts(&t, vec![jobs(10), jobs(10)]).await.map(drop));
            refused(t.store.finish(node.id, &ended).await.map(drop));
            refused(claim(&node).await.map(drop));
        }
        assert_eq!(t.state(run.id).await, State::Running, "it can be read");

        drop(frozen);
        // One call may still meet a connection from before.
        let _ = t.store.enqueue(&[], Repeat::No).await;
        assert_eq!(rows(&t).await, before, "nothing half-written");
        assert_eq!(t.finish_all(node.id, &ended).await, [Ack::Recorded(State::Succeeded)]);
        assert_eq!(claim(&node).await.expect("a claim"), 5);
        assert_eq!(in_parts(&t, vec![jobs(10), jobs(10)]).await.expect("it writes"), 20);
    });
}
