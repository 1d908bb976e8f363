//! How a worker is, right now.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::metrics::Metrics;

/// How a worker is, right now.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Health {
    /// Whether it claims and finishes as it should.
    pub ready: bool,
    /// Why not.
    pub reason: Option<String>,
    /// Handlers that run.
    pub running: u64,
    /// Jobs claimed and not started yet.
    pub waiting: u64,
    /// Results not written yet.
    pub unwritten: u64,
    /// Handlers that were cut off and whose code still holds a thread.
    pub stuck: u64,
    /// Runs started since the start of the process.
    pub started_total: u64,
    /// Results written since the start of the process.
    pub finished_total: u64,
    /// Of these, jobs that went back to the queue unfinished: cut off or never started here.
    pub given_back_total: u64,
    /// Results refused because the lease was lost.
    pub lost_leases_total: u64,
    /// Times this process was lost and joined anew.
    pub lost_total: u64,
    /// How far pruning is behind, in milliseconds: now, less the oldest expiry that was not carried out
    /// yet. `None` while this node does not lead.
    pub prune_lag_ms: Option<u64>,
    /// Ended jobs that this process removed as the leader.
    pub pruned_total: u64,
    /// Bytes of SQLite's side file (`-wal`), as upkeep saw it last. It grows while a reader holds a
    /// snapshot. `None` on PostgreSQL and in memory, and before the first look.
    pub side_file_bytes: Option<u64>,
}

/// The numbers behind [`Health`], written by the node and read by anybody.
#[derive(Clone, Default)]
pub(crate) struct Gauges(Arc<Inner>);

#[derive(Default)]
pub(super) struct Inner {
    /// The process's counters, which outlive this worker.
    metrics: Metrics,
    slots: Vec<(String, u32)>,
    leads: AtomicBool,
    /// The sending of the last heartbeat that was answered.
    beat: Mutex<Option<Instant>>,
    ready: AtomicBool,
    reason: Mutex<Option<String>>,
    running: AtomicU64,
    waiting: AtomicU64,
    unwritten: AtomicU64,
    stuck: AtomicU64,
    started: AtomicU64,
    finished: AtomicU64,
    given_back: AtomicU64,
    lost_leases: AtomicU64,
    lost: AtomicU64,
    /// [`NOT_LEADING`] while another node leads.
    prune_lag_ms: AtomicU64,
    pruned: AtomicU64,
    /// One more than its bytes; 0 where there is none.
    side_file: AtomicU64,
}

const NOT_LEADING: u64 = u64::MAX;

/// What is under way on a node.
pub(crate) struct Load {
    pub running: usize,
    pub waiting: usize,
    pub unwritten: usize,
    pub stuck: usize,
}

impl Gauges {
    pub(super) fn new(metrics: Metrics, slots: Vec<(String, u32)>) -> Gauges {
        Gauges(Arc::new(Inner { metrics, slots, ..Inner::default() }))
    }

    pub(super) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    /// What the whole process counts.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn leads(&self, leads: bool) {
        self.0.leads.store(leads, Ordering::Relaxed);
    }

    /// When the last heartbeat that was answered had been sent.
    pub fn beat(&self, sent: Instant) {
        *self.0.beat.lock().expect("nothing here panics") = Some(sent);
    }

    pub fn load(&self, load: &Load) {
        let set = |gauge: &AtomicU64, value: usize| gauge.store(value as u64, Ordering::Relaxed);
        set(&self.0.running, load.running);
        set(&self.0.waiting, load.waiting);
        set(&self.0.unwritten, load.unwritten);
        set(&self.0.stuck, load.stuck);
    }

    pub fn ready(&self) {
        if !self.0.ready.swap(true, Ordering::Relaxed) {
            *self.0.reason.lock().expect("nothing here panics") = None;
        }
    }

    pub fn not_ready(&self, reason: impl Into<String>) {
        self.0.ready.store(false, Ordering::Relaxed);
        *self.0.reason.lock().expect("nothing here panics") = Some(reason.into());
    }

    pub fn started(&self) {
        self.0.started.fetch_add(1, Ordering::Relaxed);
    }

    pub fn finished(&self) {
        self.0.finished.fetch_add(1, Ordering::Relaxed);
    }

    pub fn given_back(&self) {
        self.0.given_back.fetch_add(1, Ordering::Relaxed);
    }

    pub fn lost_lease(&self) {
        self.0.lost_leases.fetch_add(1, Ordering::Relaxed);
        self.0.metrics.lost_lease();
    }

    pub fn lost(&self) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
        self.0.metrics.lost();
    }

    /// How far this leader's prune is behind; `None`: this node does not lead.
    pub fn prune_lag(&self, lag: Option<Duration>) {
        let ms = lag.map_or(NOT_LEADING, |lag| (lag.as_millis() as u64).min(NOT_LEADING - 1));
        self.0.prune_lag_ms.store(ms, Ordering::Relaxed);
    }

    pub fn pruned(&self, jobs: u64) {
        self.0.pruned.fetch_add(jobs, Ordering::Relaxed);
        self.0.metrics.pruned(jobs);
    }

    pub fn side_file(&self, bytes: Option<u64>) {
        self.0.side_file.store(bytes.map_or(0, |bytes| bytes + 1), Ordering::Relaxed);
    }

    pub fn health(&self) -> Health {
        self.0.health()
    }
}

impl Inner {
    pub fn slots(&self) -> &[(String, u32)] {
        &self.slots
    }

    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    pub fn heartbeat_age(&self) -> Option<Duration> {
        self.beat.lock().expect("nothing here panics").map(|sent| sent.elapsed())
    }

    pub fn health(&self) -> Health {
        let get = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        Health {
            ready: self.ready.load(Ordering::Relaxed),
            reason: self.reason.lock().expect("nothing here panics").clone(),
            running: get(&self.running),
            waiting: get(&self.waiting),
            unwritten: get(&self.unwritten),
            stuck: get(&self.stuck),
            started_total: get(&self.started),
            finished_total: get(&self.finished),
            given_back_total: get(&self.given_back),
            lost_leases_total: get(&self.lost_leases),
            lost_total: get(&self.lost),
            prune_lag_ms: Some(get(&self.prune_lag_ms)).filter(|ms| *ms != NOT_LEADING),
            pruned_total: get(&self.pruned),
            side_file_bytes: get(&self.side_file).checked_sub(1),
        }
    }
}
