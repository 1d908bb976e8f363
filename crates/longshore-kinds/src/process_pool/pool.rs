//! All processes of a pool: which one is asked, and when one is begun anew.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::{Semaphore, oneshot};

use super::child::{Ask, Child};
use super::{PoolConfig, Said};
use crate::error::KindError;
use crate::files::FilesRoot;
use crate::secret::Masker;

/// How long a place stays empty after a process that never answered; twice as long after each further one.
const FIRST_REST: Duration = Duration::from_millis(100);
/// And at most.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// How long processes have between SIGTERM and SIGKILL when their node stops.
const GRACE: Duration = Duration::from_secs(1);

/// The processes of one pool.
pub(super) struct Pool {
    config: PoolConfig,
    root: Arc<FilesRoot>,
    masker: Masker,
    places: Mutex<Vec<Place>>,
    room: Semaphore,
}

/// Room for one process.
#[derive(Default)]
struct Place {
    child: Option<Arc<Child>>,
    /// Jobs that have it.
    busy: usize,
    /// How many processes in a row have ended without an answer.
    failed: u32,
    /// Nothing is started here before.
    rests_until: Option<Instant>,
}

impl Place {
    /// Looks whether its process has ended.
    fn look(&mut self) {
        let Some(child) = self.child.as_ref().filter(|child| !child.is_alive()) else { return };
        let failed = child.failed();
        self.child = None;
        if let Some((at, answered)) = failed {
            self.failed = if answered { 1 } else { self.failed + 1 };
            self.rests_until = Some(at + rest_after(self.failed));
        }
    }

    fn rest(&self) -> Duration {
        let now = Instant::now();
        self.rests_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

fn rest_after(failed: u32) -> Duration {
    FIRST_REST.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(LONGEST_REST)
}

impl Pool {
    pub fn new(config: PoolConfig, root: Arc<FilesRoot>, masker: Masker) -> Pool {
        let places = (0..config.size).map(|_| Place::default()).collect();
        let room = Semaphore::new(config.size * config.concurrency);
        Pool { config, root, masker, places: Mutex::new(places), room }
    }

    pub fn line_bytes(&self) -> usize {
        self.config.line_bytes
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().expect("nobody panics holding it")
    }

    /// Asks the process that has least to do; waits while all have as much as they may.
    pub async fn ask(
        &self,
        id: &str,
        line: Vec<u8>,
        said: Said,
    ) -> Result<Box<RawValue>, KindError> {
        let _room = self.room.acquire().await.expect("it is never closed");
        let seat = self.seat();
        loop {
            let rest = self.places()[seat.nth].rest();
            if rest.is_zero() {
                break;
            }
            tokio::time::sleep(rest).await;
        }
        let child = self.child(seat.nth)?;
        let (answer, answered) = oneshot::channel();
        let ask = Ask { id: id.to_owned(), line, said, answer };
        let gone = || KindError::Process {
            problem: "its process ended before it was asked".to_owned(),
            permanent: false,
        };
        if !child.ask(ask) {
            return Err(gone());
        }
        let asked = Asked { child, answered: false };
        let answer = answered.await.unwrap_or_else(|_| Err(gone()));
        asked.done();
        answer
    }

    /// Takes the place with least to do; of those, one that has a process and needs no rest.
    fn seat(&self) -> Seat<'_> {
        let mut places = self.places();
        places.iter_mut().for_each(Place::look);
        let nth = (0..places.len())
            .filter(|&nth| places[nth].busy < self.config.concurrency)
            .min_by_key(|&nth| {
                let place = &places[nth];
                (place.rest(), place.busy, place.child.is_none())
            })
            .expect("there is room");
        places[nth].busy += 1;
        Seat { pool: self, nth }
    }

    /// The process of this place; a new one if need be.
    fn child(&self, nth: usize) -> Result<Arc<Child>, KindError> {
        let mut places = self.places();
        let place = &mut places[nth];
        place.look();
        if let Some(child) = &place.child {
            return Ok(Arc::clone(child));
        }
        let folder = self.root.folder(".", "pool")?;
        match Child::start(&self.config, &folder, &self.masker) {
            Ok(child) => {
                let child = Arc::new(child);
                place.child = Some(Arc::clone(&child));
                Ok(child)
            }
            Err(source) => {
                place.failed += 1;
                place.rests_until = Some(Instant::now() + rest_after(place.failed));
                Err(KindError::Io { doing: "start", field: "pool", source })
            }
        }
    }
}

/// Tells all processes to end, and kills those that do not in time.
pub(super) fn end_all<'a>(pools: impl Iterator<Item = &'a Pool>) {
    let children: Vec<Arc<Child>> = pools
        .flat_map(|pool| {
            pool.places().iter_mut().filter_map(|p| p.child.take()).collect::<Vec<_>>()
        })
        .collect();
    children.iter().for_each(|child| child.ask_to_end());
    let give_up = Instant::now() + GRACE;
    while Instant::now() < give_up && !children.iter().all(|child| child.has_ended()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // What is left is killed as the last handle goes.
}

/// A job's share of a place.
struct Seat<'a> {
    pool: &'a Pool,
    nth: usize,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.pool.places()[self.nth].busy -= 1;
    }
}

/// A question that was asked: dropped before it is answered, it takes the process with it, which may be busy with it for
/// ever.
struct Asked {
    child: Arc<Child>,
    answered: bool,
}

impl Asked {
    fn done(mut self) {
        self.answered = true;
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.answered {
            self.child.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_and_have_an_end() {
        let rests = [1, 2, 3, 8, 100].map(|failed| rest_after(failed).as_millis());
        assert_eq!(rests, [100, 200, 400, 10_000, 10_000]);
    }
}
