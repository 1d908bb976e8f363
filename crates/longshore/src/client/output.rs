//! What a job answered, as its type says.

use std::time::Duration;

use super::Client;
use crate::job::{Job, JobId, State};
use crate::store::StoreError;

/// There is no output to give.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The job could not be looked at.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It has not ended in time.
    #[error("job {id} is still {state}")]
    NotYet {
        /// Which job.
        id: JobId,
        /// What it is instead.
        state: State,
    },
    /// It ended otherwise: dead, with its last error, or cancelled.
    #[error("job {id} is {state}: {why}")]
    Ended {
        /// Which job.
        id: JobId,
        /// How it ended.
        state: State,
        /// Its last error, or why it was cancelled.
        why: String,
    },
    /// The output is not what the type says, or was too large to be kept.
    #[error("the output of job {id} is no `{wanted}`")]
    Unfit {
        /// Which job.
        id: JobId,
        /// The type that was wanted.
        wanted: &'static str,
        /// What the decoder says.
        source: serde_json::Error,
    },
}

impl Client {
    /// Waits until the job succeeded, as [`Client::wait`] does, and answers its output. Without a limit it
    /// waits for ever.
    ///
    /// ```
    /// # use longshore::{Client, Job};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Add(u64, u64);
    /// # impl Job for Add { const KIND: &'static str = "add"; type Output = u64; }
    /// # async fn example(client: Client) -> Result<(), longshore::OutputError> {
    /// let added = client.enqueue(Add(1, 2)).await?;
    /// let sum: u64 = client.output::<Add>(added.id, None).await?;
    /// # Ok(()) }
    /// ```
    pub async fn output<J: Job>(
        &self,
        id: JobId,
        limit: Option<Duration>,
    ) -> Result<J::Output, OutputError> {
        let row = self.wait(id, limit).await?;
        let why = match row.state {
            State::Succeeded => {
                // A handler that answers `()` leaves none.
                let output = row.output.as_deref().unwrap_or("null");
                return serde_json::from_str(output).map_err(|source| {
                    let wanted = std::any::type_name::<J::Output>();
                    OutputError::Unfit { id, wanted, source }
                });
            }
            State::Dead => row.errors.last().map(|error| error.message.clone()),
            State::Cancelled => row.cancel.and_then(|cancel| cancel.why),
            state => return Err(OutputError::NotYet { id, state }),
        };
        Err(OutputError::Ended { id, state: row.state, why: why.unwrap_or_default() })
    }
}
