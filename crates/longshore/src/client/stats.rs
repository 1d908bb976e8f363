//! The numbers of now, and whether they may have changed.

use futures_util::future::{try_join, try_join_all};

use super::{Client, QueueRow};
use crate::job::State;
use crate::query::Filter;
use crate::store::{Count, Effort, Result, StoreError, Woken};

/// How things are, each number bounded so that it takes milliseconds however many jobs there are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Jobs by state, to 10,000 each; in the order of [`Stats::STATES`].
    pub states: Vec<(State, Count)>,
    /// The queues, as [`Client::queues`] answers them.
    pub queues: Vec<QueueRow>,
    /// Live nodes.
    pub nodes: u32,
}

impl Stats {
    /// The states that are counted. The others are only ever a moment long.
    pub const STATES: [State; 7] = [
        State::Queued,
        State::Scheduled,
        State::Retrying,
        State::Running,
        State::Dead,
        State::Succeeded,
        State::Cancelled,
    ];
}

impl Client {
    /// How things are now.
    pub async fn stats(&self) -> Result<Stats> {
        // At once: each takes some tens of milliseconds of a connection's time.
        let states = Stats::STATES.map(|state| async move {
            let count = self.count(Filter::all().state(state), Effort::Bounded).await?;
            Ok::<_, StoreError>((state, count))
        });
        let (states, queues) = try_join(try_join_all(states), self.queues()).await?;
        let nodes = self.nodes().await?.iter().filter(|node| node.live).count() as u32;
        Ok(Stats { states, queues, nodes })
    }

    /// A number that is another one whenever jobs may have changed since it was asked for last, in whatever process;
    /// takes well under a millisecond. It may change for nothing. On PostgreSQL it comes from the server's statistics,
    /// which sessions bring up to date after a second, and idle ones after ten.
    pub async fn change_mark(&self) -> Result<u64> {
        self.call(|store| async move { store.change_mark().await }).await
    }

    /// Hints that this process gets of new work and of cancels; those of other processes only while a worker runs in
    /// this one.
    pub fn hints(&self) -> Woken {
        self.store().wakes().subscribe()
    }
}
