//! New jobs.

use longshore::{JobId, NewJob};
use longshore_server::wire::{EnqueuedView, JobBody};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{Door, raw};
use crate::connect::patiently;
use crate::exit::Failure;
use crate::remote::Ask;

/// A job that was looked at, in the form in which it goes through the door.
pub(crate) enum Ready {
    Job(Box<NewJob>),
    Text(Box<RawValue>),
}

/// How much one call takes, all or nothing.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    pub jobs: usize,
    pub bytes: usize,
}

#[derive(Serialize)]
struct Batch<'a> {
    jobs: &'a [Box<RawValue>],
}

/// The answer, of which no job was refused: it is all or nothing.
#[derive(Deserialize)]
struct Added {
    results: Vec<EnqueuedView>,
}

impl Door {
    /// Checks a job as far as can be done here. `payload`: byte for byte, in place of the body's.
    pub fn ready(&self, body: JobBody<'_>, payload: Option<&str>) -> Result<Ready, Failure> {
        let job = body.clone().into_job()?;
        Ok(match self {
            Door::Database(_) => Ready::Job(Box::new(match payload {
                Some(payload) => job.payload(payload),
                None => job,
            })),
            Door::Server(_) => {
                let payload = payload.map(raw).transpose()?.or(body.payload);
                let text = to_raw_value(&JobBody { payload, ..body });
                Ready::Text(text.map_err(|error| Failure::failed(error.to_string()))?)
            }
        })
    }

    /// How much [`Door::enqueue_many`] takes.
    pub fn most(&self) -> Most {
        match self {
            Door::Database(_) => Most { jobs: 5_000, bytes: 8 << 20 },
            Door::Server(_) => Most { jobs: 1_000, bytes: 8 << 20 },
        }
    }

    /// Adds a job. A reply that is lost on its way adds no second one.
    pub async fn enqueue(&self, job: Ready) -> Result<EnqueuedView, Failure> {
        match (self, job) {
            (Door::Database(client), Ready::Job(job)) => Ok(client.enqueue(*job).await?.into()),
            (Door::Server(remote), Ready::Text(text)) => {
                remote.read(&Ask::post(["jobs"]).json(&text).only_once()).await
            }
            _ => unreachable!("a job is made ready by the door that it goes through"),
        }
    }

    /// Adds all of them or none. An outage in the middle of it is waited out, and adds nothing twice.
    pub async fn enqueue_many(&self, jobs: Vec<Ready>) -> Result<Vec<EnqueuedView>, Failure> {
        match self {
            Door::Database(client) => {
                let jobs: Vec<NewJob> = jobs.into_iter().filter_map(Ready::job).collect();
                let placed = |error: longshore::StoreError| {
                    let (error, index) = error.split_place();
                    Failure { index, ..Failure::from(error) }
                };
                let added = match client.enqueue_many(jobs.clone()).await {
                    Err(error) if error.is_unavailable() => {
                        let again: Vec<NewJob> = jobs.into_iter().map(with_own_id).collect();
                        patiently("enqueue", || client.enqueue_many(again.clone())).await
                    }
                    answer => answer,
                };
                let added = added.map_err(placed)?;
                Ok(added.into_iter().map(EnqueuedView::from).collect())
            }
            Door::Server(remote) => {
                let jobs: Vec<Box<RawValue>> = jobs.into_iter().filter_map(Ready::text).collect();
                let ask = Ask::post(["jobs", "batch"]).json(&Batch { jobs: &jobs }).only_once();
                // The same key each time.
                let Added { results } = patiently("enqueue", || remote.read(&ask)).await?;
                Ok(results)
            }
        }
    }
}

fn with_own_id(job: NewJob) -> NewJob {
    let id: JobId = job.id();
    job.with_id(id)
}

impl Ready {
    fn job(self) -> Option<NewJob> {
        match self {
            Ready::Job(job) => Some(*job),
            Ready::Text(_) => None,
        }
    }

    fn text(self) -> Option<Box<RawValue>> {
        match self {
            Ready::Job(_) => None,
            Ready::Text(text) => Some(text),
        }
    }
}
