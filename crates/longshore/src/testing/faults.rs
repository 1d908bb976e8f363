//! Faults that a test arms, each of which comes once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::store::{NodeId, Result, StoreError};

/// What shall go wrong next in a [`super::TestStore`]. Each fault comes once for each time it is armed; one
/// that never came fails the test at its end, since it then tested nothing.
///
/// They happen between the store and whoever calls it, so they meet drains, performed jobs and real workers
/// alike. A node that crashed is gone as after `kill -9`: nothing it still says is written, and its jobs are
/// rescued when its lease is over (30 s; advance the clock).
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Armed>>);

#[derive(Debug, Default)]
struct Armed {
    refusals: u32,
    lost_replies: u32,
    crashes_before_ack: u32,
    crashes_after_claim: u32,
    gone: HashSet<NodeId>,
}

impl Faults {
    /// The next run's handler comes to its end, but its node crashes before that is written. With
    /// [`crate::extract::Tx`] what the handler did in the transaction is rolled back.
    pub fn crash_before_ack(&self) {
        self.armed().crashes_before_ack += 1;
    }

    /// The next node that claims something crashes before it starts a handler.
    pub fn crash_after_claim(&self) {
        self.armed().crashes_after_claim += 1;
    }

    /// The next enqueue is committed, but its caller is answered [`StoreError::Unavailable`].
    pub fn lose_next_reply(&self) {
        self.armed().lost_replies += 1;
    }

    /// The next `calls` calls of a client or a worker are not carried out, and answered
    /// [`StoreError::Unavailable`]. Workers and drains try again, as in life.
    pub fn refuse_next(&self, calls: u32) {
        self.armed().refusals += calls;
    }

    /// Takes back what was armed and has not come.
    pub fn disarm(&self) {
        let mut armed = self.armed();
        *armed = Armed { gone: std::mem::take(&mut armed.gone), ..Armed::default() };
    }

    /// What was armed and has not come, in words.
    pub(super) fn left(&self) -> Vec<String> {
        let armed = self.armed();
        let all = [
            ("crash_before_ack", armed.crashes_before_ack),
            ("crash_after_claim", armed.crashes_after_claim),
            ("lose_next_reply", armed.lost_replies),
            ("refuse_next", armed.refusals),
        ];
        let left = all.into_iter().filter(|(_, times)| *times > 0);
        left.map(|(name, times)| format!("{name} ({times})")).collect()
    }

    /// Whether a test made this node crash.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        self.armed().gone.contains(&node)
    }

    /// The nodes that a test made crash.
    pub(super) fn gone(&self) -> Vec<NodeId> {
        self.armed().gone.iter().copied().collect()
    }

    /// Whether a call may be carried out.
    pub(super) fn pass(&self, doing: &'static str) -> Result<()> {
        if take(&mut self.armed().refusals) { Err(unavailable(doing, "refused")) } else { Ok(()) }
    }

    /// The same for a call of a node.
    pub(super) fn pass_node(&self, node: NodeId, doing: &'static str) -> Result<()> {
        if self.is_gone(node) { Err(unavailable(doing, "its node crashed")) } else { Ok(()) }
    }

    pub(super) fn reply<T>(&self, answer: T) -> Result<T> {
        if take(&mut self.armed().lost_replies) {
            return Err(unavailable("enqueue", "the reply was lost"));
        }
        Ok(answer)
    }

    /// Whether this node crashes now, with something claimed.
    pub(super) fn crashes_after_claim(&self, node: NodeId) -> bool {
        let mut armed = self.armed();
        let crashes = take(&mut armed.crashes_after_claim);
        if crashes {
            armed.gone.insert(node);
        }
        crashes
    }

    /// Whether this node crashes now, with something to write.
    pub(super) fn crashes_before_ack(&self, node: NodeId) -> bool {
        let mut armed = self.armed();
        let crashes = take(&mut armed.crashes_before_ack);
        if crashes {
            armed.gone.insert(node);
        }
        crashes
    }

    fn armed(&self) -> MutexGuard<'_, Armed> {
        self.0.lock().expect("nothing here panics")
    }
}

fn take(left: &mut u32) -> bool {
    let some = *left > 0;
    *left = left.saturating_sub(1);
    some
}

fn unavailable(doing: &'static str, why: &str) -> StoreError {
    let source = format!("{why}, as the test asked for").into();
    StoreError::Unavailable { doing, source }
}
