//! One heartbeat per node renews all its jobs. It runs on the engine, beside the handlers, on
//! PostgreSQL over a connection of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::ledger::Over;
use super::patience::Patience;
use crate::engine::within;
use crate::store::{Beat, NodeId, NodeState, Pulse, Store, Wish};
use crate::time::Timestamp;

/// A jump of the database's clock against ours that is no jitter: a failover, say.
const JUMP: Duration = Duration::from_secs(3);

/// What the heartbeat knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beating {
    /// When the last good beat was *sent*: the lease holds at least from then.
    pub sent: Instant,
    /// The node is lost.
    pub lost: bool,
    /// After a jump of the database's clock: no rescue and no election before.
    pub quiet_until: Option<Instant>,
    /// What the node is asked to be; `None`: to serve.
    pub wish: Option<Wish>,
    /// Another node's jobs have to be rescued.
    pub overdue: bool,
}

pub(super) struct Heartbeat {
    pub store: Arc<dyn Store>,
    pub node: NodeId,
    pub lease_for: Duration,
    pub every: Duration,
    pub over: Over,
    /// What the node is at.
    pub state: watch::Receiver<NodeState>,
}

impl Heartbeat {
    /// Beats until the node is lost or nobody listens any more. `joined`: when the join was sent.
    pub async fn run(mut self, tell: watch::Sender<Beating>) {
        let mut patience = Patience::new("renew the lease");
        let mut clock: Option<(Timestamp, Instant)> = None;
        let mut next = tell.borrow().sent + self.every;
        let mut wishes = self.store.wakes().wishes();
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(next.into()) => {}
                // Beats at once, to hear what was asked, and to say what became of it. After a failure it waits.
                Ok(()) = wishes.changed(), if patience.down_since().is_none() => {}
                Ok(()) = self.state.changed(), if patience.down_since().is_none() => {}
                () = tell.closed() => return,
            }
            let over = self.over.take();
            let beat = Beat {
                node: self.node,
                lease_for: self.lease_for,
                over: over.clone(),
                state: *self.state.borrow_and_update(),
            };
            let sent = Instant::now();
            match within(self.lease_for, "renew the lease", self.store.beat(&beat)).await {
                Ok(Pulse::Alive { now, wish, overdue }) => {
                    patience.worked();
                    let jumped = clock.is_some_and(|(then, at)| is_jump(now, then, sent - at));
                    clock = Some((now, sent));
                    tell.send_modify(|beating| {
                        beating.sent = sent;
                        beating.wish = wish;
                        beating.overdue = overdue;
                        if jumped {
                            tracing::warn!("the database's clock jumped; rescue waits one lease");
                            beating.quiet_until = Some(sent + self.lease_for);
                        }
                    });
                    next = sent + self.every;
                }
                Ok(Pulse::Lost) => {
                    tell.send_modify(|beating| beating.lost = true);
                    return;
                }
                Err(error) => {
                    self.over.put(over);
                    next = patience.failed(&error).min(Instant::now() + self.every);
                }
            }
        }
    }
}

fn is_jump(now: Timestamp, then: Timestamp, passed: Duration) -> bool {
    let expected = then.plus(passed);
    now.since(expected).max(expected.since(now)) > JUMP
}
