//! One source of events for the whole process: it looks whether something has changed, twice a second, while anybody
//! listens. Listeners share what it finds, each at its own pace.
//!
//! There is no list of events: of each topic only how often it has changed is kept. So a slow listener costs nothing,
//! and one that comes back is told what it missed by comparing numbers.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use longshore::Client;
use longshore::store::Woken;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::rights::Right;

/// How often it looks; no topic changes more often.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Queues and nodes are asked for every second time.
const SLOW_EVERY: u32 = 2;
/// It goes on so long after the last listener has gone: who comes back by then has missed nothing.
const LINGER: Duration = Duration::from_secs(60);

/// What events tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Jobs,
    Queues,
    Nodes,
    Stats,
}

impl Topic {
    pub const ALL: [Topic; 4] = [Topic::Jobs, Topic::Queues, Topic::Nodes, Topic::Stats];

    pub fn as_str(self) -> &'static str {
        match self {
            Topic::Jobs => "jobs",
            Topic::Queues => "queues",
            Topic::Nodes => "nodes",
            Topic::Stats => "stats",
        }
    }

    /// What somebody needs to hear of it.
    pub fn right(self) -> Right {
        match self {
            Topic::Jobs => Right::JobsRead,
            Topic::Queues => Right::QueuesRead,
            Topic::Nodes => Right::NodesRead,
            Topic::Stats => Right::StatsRead,
        }
    }
}

/// How often each topic has changed since the source was started, and which start that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    epoch: u32,
    changes: [u32; 4],
}

impl Seen {
    /// The topics of `topics` that have changed since `earlier`; `None` if that was another start.
    pub fn since(&self, earlier: &Seen, topics: &[Topic]) -> Option<Vec<Topic>> {
        let newer = |topic: &&Topic| {
            let at = **topic as usize;
            self.changes[at] != earlier.changes[at]
        };
        (self.epoch == earlier.epoch).then(|| topics.iter().filter(newer).copied().collect())
    }

    /// Reads an event's id. Not one of ours: as if from another start.
    pub fn read(text: &str) -> Seen {
        let mut parts = text.split('-').map(|part| u32::from_str_radix(part, 16).ok());
        let mut next = || parts.next().flatten().unwrap_or(0);
        Seen { epoch: next(), changes: [next(), next(), next(), next()] }
    }
}

/// An event's id: what its listener has seen once it has it.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [jobs, queues, nodes, stats] = self.changes;
        write!(f, "{:x}-{jobs:x}-{queues:x}-{nodes:x}-{stats:x}", self.epoch)
    }
}

/// Where listeners come to.
pub(crate) struct Events {
    seen: Arc<watch::Sender<Seen>>,
    runs: Arc<Mutex<bool>>,
    room: Arc<Semaphore>,
}

/// A listener's place. Whoever has it is told of changes.
pub(crate) struct Listener {
    pub seen: watch::Receiver<Seen>,
    _place: OwnedSemaphorePermit,
}

impl Events {
    pub fn new(most: usize) -> Events {
        let room = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Events { seen: Arc::default(), runs: Arc::default(), room }
    }

    /// A place, if there is one; starts the source for the first.
    pub fn listen(&self, client: &Client) -> Option<Listener> {
        let place = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let mut runs = self.runs.lock().expect("nothing here panics");
        // Before the source can look who is there.
        let seen = self.seen.subscribe();
        if !std::mem::replace(&mut *runs, true) {
            // What went by while nobody looked is not known, so what was seen before it counts no more.
            let epoch = fresh_epoch();
            self.seen.send_replace(Seen { epoch, changes: [0; 4] });
            let source = Source {
                client: client.clone(),
                hints: client.hints(),
                seen: Arc::clone(&self.seen),
                runs: Arc::clone(&self.runs),
                last: Last::default(),
            };
            tokio::spawn(source.run());
        }
        Some(Listener { seen, _place: place })
    }
}

/// Another one for each start, of the random end of an id; never 0, which is nobody's.
fn fresh_epoch() -> u32 {
    (uuid::Uuid::now_v7().as_u128() as u32).max(1)
}

struct Source {
    client: Client,
    hints: Woken,
    seen: Arc<watch::Sender<Seen>>,
    runs: Arc<Mutex<bool>>,
    last: Last,
}

/// What the last look has found; `None` before the first.
#[derive(Default)]
struct Last {
    jobs: Option<u64>,
    queues: Option<u64>,
    nodes: Option<u64>,
}

impl Source {
    async fn run(mut self) {
        let mut heard = Instant::now();
        let mut round = 0;
        loop {
            let changed = self.look(round).await;
            if changed != [false; 4] {
                self.seen.send_modify(|seen| {
                    for (count, changed) in seen.changes.iter_mut().zip(changed) {
                        *count = count.wrapping_add(u32::from(changed));
                    }
                });
            }
            if self.seen.receiver_count() > 0 {
                heard = Instant::now();
            } else if heard.elapsed() > LINGER {
                let mut runs = self.runs.lock().expect("nothing here panics");
                // Nobody comes between: whoever comes needs this lock.
                if self.seen.receiver_count() == 0 {
                    *runs = false;
                    return;
                }
            }
            round = (round + 1) % SLOW_EVERY;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Which topics may have changed. What cannot be read has not changed, as far as anybody knows.
    async fn look(&mut self, round: u32) -> [bool; 4] {
        let hint = self.hints.take();
        let mark = self.client.change_mark().await.ok();
        let jobs = differs(&mut self.last.jobs, mark) | hint.look | hint.cancels;
        let (mut queues, mut nodes) = (false, false);
        if round == 0 {
            queues = differs(&mut self.last.queues, queues_of(&self.client).await);
            nodes = differs(&mut self.last.nodes, nodes_of(&self.client).await);
        }
        [jobs, queues, nodes, jobs | queues | nodes]
    }
}

/// Whether something else was found than the last time. What is found first is a change too: whoever has come
/// before it may have looked at things as they were before it.
fn differs(last: &mut Option<u64>, found: Option<u64>) -> bool {
    found.is_some() && std::mem::replace(last, found.or(*last)) != found
}

async fn queues_of(client: &Client) -> Option<u64> {
    let mut all = DefaultHasher::new();
    for queue in client.queues().await.ok()? {
        let count = queue.count.map(|count| (count.depth, count.capped));
        let pause = queue.pause.map(|pause| (pause.by, pause.why, pause.until, pause.since));
        (queue.name, count, queue.slots, pause).hash(&mut all);
    }
    Some(all.finish())
}

async fn nodes_of(client: &Client) -> Option<u64> {
    let mut all = DefaultHasher::new();
    for node in client.nodes().await.ok()? {
        let wish = node.wish.map(|wish| wish.as_str());
        (node.id, node.live, node.state.as_str(), wish).hash(&mut all);
    }
    Some(all.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_was_seen() {
        let seen = Seen { epoch: 0xabc, changes: [1, 0, 255, 4] };
        assert_eq!(seen.to_string(), "abc-1-0-ff-4");
        assert_eq!(Seen::read("abc-1-0-ff-4"), seen);
        let now = Seen { epoch: 0xabc, changes: [2, 0, 255, 5] };
        assert_eq!(now.since(&seen, &Topic::ALL), Some(vec![Topic::Jobs, Topic::Stats]));
        assert_eq!(now.since(&seen, &[Topic::Nodes]), Some(vec![]));
        assert_eq!(now.since(&Seen::read("abd-1-0-ff-4"), &Topic::ALL), None);
        for odd in ["", "x", "-", "1-2", "zz-1-1-1-1", "99999999999-1"] {
            assert_eq!(now.since(&Seen::read(odd), &Topic::ALL), None, "{odd}");
        }
    }

    #[test]
    fn only_another_finding_is_a_change() {
        let mut last = None;
        assert!(differs(&mut last, Some(1)), "the first is one");
        assert!(!differs(&mut last, Some(1)));
        assert!(!differs(&mut last, None), "nor what could not be read");
        assert!(!differs(&mut last, Some(1)));
        assert!(differs(&mut last, Some(2)));
    }
}
