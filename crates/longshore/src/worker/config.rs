//! How one worker process behaves.

use std::time::Duration;

use crate::audit::DEFAULT_AUDIT_FOR;
use crate::store::{Level, StoreError};
use crate::trace::TraceMode;

/// How one worker process behaves. Plain data: flags, files and variables are the CLI's.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// A name for people; need not be unique. Default `worker`.
    pub name: String,
    /// The application's version, for people. Default empty.
    pub version: String,
    /// How long this node's claims stay its own without a heartbeat. Default 30 s. Shorter rescues
    /// live jobs when the database is slow, longer delays the rescue of lost ones.
    pub lease_for: Duration,
    /// How often the lease is renewed. Default 5 s; at most a third of the lease, so that two beats
    /// may be lost.
    pub heartbeat_every: Duration,
    /// How long before the end of an unrenewed lease this node stops its handlers by its own clock,
    /// so that they are gone before anybody may rescue their jobs. Default 5 s.
    pub stop_margin: Duration,
    /// How often an idle node looks for work that nobody told it of. Default 1 s.
    pub poll_every: Duration,
    /// After a stop is asked for, how long running jobs may go on before they are given back.
    /// Default 25 s: under the 30 s that most process managers allow.
    pub drain_for: Duration,
    /// Log lines of runs are kept from this level on. Default info.
    pub log_level: Level,
    /// How the spans of runs stand to the trace that their jobs were enqueued in. Default linked. Only the feature
    /// `otel` makes spans.
    pub trace: TraceMode,
    /// Whether this node takes part in upkeep: rescue, and the leader's chores. Default yes.
    pub upkeep: bool,
    /// How long entries of the audit log are kept, as far as this node leads. Default 90 days.
    pub audit_for: Duration,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        WorkerConfig {
            name: "worker".to_owned(),
            version: String::new(),
            lease_for: Duration::from_secs(30),
            heartbeat_every: Duration::from_secs(5),
            stop_margin: Duration::from_secs(5),
            poll_every: Duration::from_secs(1),
            drain_for: Duration::from_secs(25),
            log_level: Level::Info,
            trace: TraceMode::default(),
            upkeep: true,
            audit_for: DEFAULT_AUDIT_FOR,
        }
    }
}

/// The most slots of one queue on one node.
const MAX_SLOTS: u32 = 10_000;

impl WorkerConfig {
    /// Finds every fault, and says them all in one message.
    pub(super) fn check(&self, queues: &[(String, u32)]) -> Result<(), StoreError> {
        let mut faults = Vec::new();
        let mut must = |holds: bool, fault: String| {
            if !holds {
                faults.push(fault);
            }
        };
        must(!queues.is_empty(), "no queue is served; add one with `queue`".to_owned());
        for (queue, slots) in queues {
            let fine = (1..=MAX_SLOTS).contains(slots);
            must(fine, format!("queue `{queue}` has {slots} slots; it may have 1 to {MAX_SLOTS}"));
            if let Err(fault) = crate::job::name::check(queue) {
                must(false, format!("queue `{}` {fault}", crate::job::name::shown(queue)));
            }
        }
        let (lease, beat, margin) = (self.lease_for, self.heartbeat_every, self.stop_margin);
        must(
            beat > Duration::ZERO && beat * 3 <= lease,
            format!(
                "heartbeat_every is {beat:?}; it may be at most a third of lease_for, {lease:?}"
            ),
        );
        must(
            margin > Duration::ZERO && margin + beat < lease,
            format!(
                "stop_margin is {margin:?}; with heartbeat_every it must be less than lease_for, {lease:?}"
            ),
        );
        must(self.poll_every > Duration::ZERO, "poll_every is 0".to_owned());
        must(self.audit_for > Duration::ZERO, "audit_for is 0".to_owned());
        if faults.is_empty() { Ok(()) } else { Err(StoreError::Config(faults.join("; "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_come_in_one_message() {
        let config = WorkerConfig {
            heartbeat_every: Duration::from_secs(20),
            stop_margin: Duration::from_secs(30),
            ..WorkerConfig::default()
        };
        let error = config.check(&[("mail".into(), 0)]).expect_err("three faults").to_string();
        for part in ["`mail` has 0 slots", "heartbeat_every is 20s", "stop_margin is 30s"] {
            assert!(error.contains(part), "{error}");
        }
        WorkerConfig::default().check(&[("mail".into(), 1)]).expect("the defaults are fine");
    }
}
