//! Follow-up jobs that a repeated run does not add twice.

use std::collections::HashMap;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::FromRun;
use crate::job::{JobError, JobId, NewJob};
use crate::store::{Enqueued, Result, Tx};
use crate::worker::Run;

/// Enqueues follow-up jobs, at once. Each gets an id that follows from the job that runs and from its place: the
/// first, second, … of its kind, or a name. A run that is repeated, after a failure or because its node died, makes
/// the same ids again, so what it has added before is a duplicate and nothing is added twice:
///
/// - as long as the follow-up job is there, waiting, running or ended and kept. One that has ended and keeps
///   nothing (`retain` of 0), or was removed since, is added again;
/// - as long as the handler enqueues its jobs of a kind in the same order each time. Where the order may differ, say
///   the names yourself ([`Enqueue::add_as`]);
/// - whatever the payload is: it is the first run's that counts.
///
/// A run that fails after it has enqueued leaves its jobs there. What must not be there unless the run ends well goes
/// in the handler's transaction, [`Enqueue::add_in`].
///
/// A job with an id of the caller's own ([`NewJob::with_id`]) keeps it. What is enqueued through
/// [`crate::Client`] has a fresh id each time.
///
/// ```
/// # use longshore::{Job, JobError, NewJob, extract::Enqueue};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Album { photos: Vec<String> }
/// # impl Job for Album { const KIND: &'static str = "album"; type Output = (); }
/// async fn album(job: Album, enqueue: Enqueue) -> Result<(), JobError> {
///     for photo in &job.photos {
///         enqueue.add_as(photo, NewJob::new("thumbnail").payload(serde_json::to_string(photo)?)).await?;
///     }
///     enqueue.add(NewJob::new("album_ready")).await?;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Enqueue(Run);

/// How many jobs of each kind a run has enqueued.
pub(crate) type Counts = Mutex<HashMap<String, u64>>;

impl Enqueue {
    /// Adds a job: the next of its kind in this run.
    pub async fn add(&self, job: impl Into<NewJob>) -> Result<Enqueued> {
        let job = self.numbered(job.into());
        self.0.client().enqueue(job).await
    }

    /// Adds a job under a name that no other one of this run has.
    pub async fn add_as(&self, name: &str, job: impl Into<NewJob>) -> Result<Enqueued> {
        let job = self.named(job.into(), name);
        self.0.client().enqueue(job).await
    }

    /// Adds a job, the next of its kind, in a transaction: the handler's own ([`super::Tx`]), say, which is committed
    /// together with the job's completion or not at all.
    pub async fn add_in(&self, tx: &mut impl Tx, job: impl Into<NewJob>) -> Result<Enqueued> {
        let job = self.numbered(job.into());
        self.0.client().enqueue_in(tx, job).await
    }

    fn numbered(&self, job: NewJob) -> NewJob {
        let mut counts = self.0.enqueued().lock().expect("nothing here panics");
        let count = counts.entry(job.kind().to_owned()).or_default();
        *count += 1;
        let nth = *count;
        drop(counts);
        let place = format!("{}\0{nth}", job.kind());
        self.with_id(job, "number", &place)
    }

    fn named(&self, job: NewJob, name: &str) -> NewJob {
        self.with_id(job, "name", name)
    }

    fn with_id(&self, job: NewJob, how: &str, place: &str) -> NewJob {
        if job.has_callers_id() {
            return job;
        }
        let id = follow_up(self.0.id(), how, place);
        job.with_id(id)
    }
}

impl FromRun for Enqueue {
    async fn from_run(run: &Run) -> Result<Enqueue, JobError> {
        Ok(Enqueue(run.clone()))
    }
}

/// As time-ordered as its parent's: the parent's time, and a hash in place of chance. Of a parent whose id tells no
/// time the whole is a hash.
fn follow_up(parent: JobId, how: &str, place: &str) -> JobId {
    let parent = parent.as_uuid();
    let mut hash = Sha256::new();
    hash.update(parent.as_bytes());
    hash.update(how.as_bytes());
    hash.update([0]);
    hash.update(place.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    let version = if parent.get_version_num() == 7 {
        bytes[..6].copy_from_slice(&parent.as_bytes()[..6]);
        7
    } else {
        8
    };
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    JobId::from_uuid(Uuid::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_the_parent_and_the_place() {
        let (one, two) = (JobId::new(), JobId::new());
        let id = follow_up(one, "number", "a\x001");
        assert_eq!(id, follow_up(one, "number", "a\x001"));
        let others = [
            follow_up(two, "number", "a\x001"),
            follow_up(one, "number", "a\x002"),
            follow_up(one, "number", "b\x001"),
            follow_up(one, "name", "a\x001"),
            one,
        ];
        assert!(others.iter().all(|other| *other != id));
        assert_eq!(id.as_uuid().get_version_num(), 7);
        assert_eq!(id.as_uuid().as_bytes()[..6], one.as_uuid().as_bytes()[..6]);
        let v4 = JobId::from_uuid(Uuid::from_u128(0x0192_0000_0000_4000_8000_0000_0000_0001));
        assert_eq!(follow_up(v4, "name", "x").as_uuid().get_version_num(), 8);
    }
}
