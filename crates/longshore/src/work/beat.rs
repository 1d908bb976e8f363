//! The heartbeat of a worker: renews its lease, and waits for what the worker has to hear.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::{LONGEST_WAIT, Work, WorkError, WorkResult};
use crate::job::JobId;
use crate::store::{Beat, NodeId, NodeState, Pulse, Wish};

/// How often it is asked whether a cancel came; hints come sooner.
const CANCELS_EVERY: Duration = Duration::from_millis(500);
/// A hint to look for cancels is not followed more often than this.
const CANCELS_APART: Duration = Duration::from_millis(20);
/// The same for wishes, which hints tell, too.
const WISHES_EVERY: Duration = Duration::from_secs(2);
/// With cancels that may be known already no call waits longer: they may be news, and whoever asks for ever is not
/// answered for ever.
const WITH_CANCELS: Duration = Duration::from_millis(500);

/// The answer to a worker's heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// All jobs of the node that are asked to cancel at this time.
    pub cancel: Vec<JobId>,
    /// What the node is asked to be; `None`: to serve.
    pub wish: Option<Wish>,
    /// So long from the sending of the heartbeat its claims stay its own.
    pub lease_for: Duration,
}

impl Work {
    /// Renews the lease of all that the node holds, and then waits for at most `wait`, and a third of the lease, until
    /// a job of the node is asked to cancel, or it is asked to be something that `state` is not. Once `stop` is ready
    /// it waits no longer. The lease is renewed in any case.
    pub async fn beat(
        &self,
        node: NodeId,
        state: NodeState,
        wait: Duration,
        stop: impl Future<Output = ()>,
    ) -> WorkResult<Beaten> {
        if wait > LONGEST_WAIT {
            let (wait, most) = (wait.as_millis(), LONGEST_WAIT.as_millis());
            return Err(WorkError::range("/wait_ms", "wait_ms", wait, (0, most)));
        }
        let began = Instant::now();
        let _hearing = (!wait.is_zero()).then(|| self.ear.open(&self.client));
        let mut woken = self.client.store().wakes().subscribe();
        let mut wishes = self.client.store().wakes().wishes();
        let lease_for = self.remote(node).await?.lease_for;
        let beat = Beat { node, lease_for, over: Vec::new(), state };
        let doing = "renew the lease";
        let pulse = self.call(doing, move |store| async move { store.beat(&beat).await }).await?;
        let Pulse::Alive { wish, .. } = pulse else { return Err(WorkError::lost(node)) };
        let cancel = self.cancels(node).await?;
        let mut beaten = Beaten { cancel, wish, lease_for };

        let mut longest = wait.min(lease_for / 3);
        if !beaten.cancel.is_empty() {
            longest = longest.min(WITH_CANCELS);
        }
        let give_up = began + longest;
        let mut cancels_at = Instant::now() + CANCELS_EVERY;
        let mut wishes_at = Instant::now() + WISHES_EVERY;
        let mut stop = pin!(stop);
        while fits(beaten.wish, state) {
            let now = Instant::now();
            if now >= give_up || stop.as_mut().now_or_never().is_some() {
                break;
            }
            if now >= cancels_at {
                cancels_at = now + CANCELS_EVERY;
                let known = std::mem::replace(&mut beaten.cancel, self.cancels(node).await?);
                if beaten.cancel.iter().any(|id| !known.contains(id)) {
                    break;
                }
            }
            if now >= wishes_at {
                wishes_at = now + WISHES_EVERY;
                beaten.wish = self.remote(node).await?.wish;
                continue;
            }
            let wake_at = cancels_at.min(wishes_at).min(give_up);
            tokio::select! {
                news = woken.news() => {
                    if news.cancels {
                        cancels_at = cancels_at.min(Instant::now() + CANCELS_APART);
                    }
                }
                Ok(()) = wishes.changed() => wishes_at = now,
                () = tokio::time::sleep_until(wake_at.into()) => {}
                () = &mut stop => break,
            }
        }
        Ok(beaten)
    }

    async fn cancels(&self, node: NodeId) -> WorkResult<Vec<JobId>> {
        self.call("look for cancels", move |store| async move { store.cancels(node).await }).await
    }
}

/// Whether a node that is in this state has heard what it is asked to be.
fn fits(wish: Option<Wish>, state: NodeState) -> bool {
    match wish {
        None => state == NodeState::Serving,
        Some(Wish::Quiet) => state == NodeState::Quiet,
        Some(Wish::Stop) => state == NodeState::Stopping,
    }
}
