//! Jobs, one at a time and in pages.

use std::time::Duration;

use longshore::store::{AskCancel, Effort, ListQuery, LogQuery, Position};
use longshore::{Client, Edit, Filter, JobId, JobRow, State};
use longshore_server::wire::{
    CancelBody, CountView, EditBody, LogsView, PageView, RescheduleBody, RetryBody, ShownView,
    VERSIONS, within,
};

use super::{Door, nobody_else, only_here, raw};
use crate::exit::Failure;
use crate::remote::Ask;

impl Door {
    /// A job with how far it is.
    pub async fn job(&self, id: JobId) -> Result<ShownView, Failure> {
        match self {
            Door::Database(client) => shown(client, client.get(id).await?).await,
            Door::Server(remote) => remote.read(&Ask::get(["jobs", &id.to_string()])).await,
        }
    }

    /// The same with what is hidden.
    pub async fn reveal(&self, id: JobId) -> Result<ShownView, Failure> {
        match self {
            Door::Database(client) => shown(client, client.reveal(id).await?).await,
            Door::Server(remote) => {
                remote.read(&Ask::get(["jobs", &id.to_string(), "reveal"])).await
            }
        }
    }

    /// The job once it ended, or as it is after this span.
    pub async fn wait(&self, id: JobId, span: Duration) -> Result<ShownView, Failure> {
        match self {
            Door::Database(client) => shown(client, client.wait(id, Some(span)).await?).await,
            Door::Server(remote) => {
                let ms = format!("{}ms", span.as_millis());
                let ask = Ask::get(["jobs", &id.to_string(), "wait"]).with("timeout", &ms);
                remote.read(&ask.waiting(span)).await
            }
        }
    }

    /// One page of jobs.
    pub async fn list(&self, query: &ListQuery) -> Result<PageView, Failure> {
        match self {
            Door::Database(client) => Ok(client.list(query.clone()).await?.into()),
            Door::Server(remote) => {
                let mut ask = Ask::get(["jobs"]).with("q", &query.filter.to_string());
                ask = match query.at {
                    Position::First => ask,
                    Position::After(cursor) => ask.with("after", &cursor.to_string()),
                    Position::Before(cursor) => ask.with("before", &cursor.to_string()),
                };
                remote.read(&ask.with("limit", &query.limit.to_string())).await
            }
        }
    }

    /// How many there are.
    pub async fn count(&self, filter: Filter, effort: Effort) -> Result<CountView, Failure> {
        match self {
            Door::Database(client) => Ok(client.count(filter, effort).await?.into()),
            Door::Server(remote) => {
                if matches!(effort, Effort::Unbounded) {
                    let why =
                        "a server counts to 10,000, so that nobody can keep its database busy";
                    return Err(only_here("--exact", why));
                }
                remote.read(&Ask::get(["jobs", "count"]).with("q", &filter.to_string())).await
            }
        }
    }

    /// Some lines of a job's log.
    pub async fn logs(&self, id: JobId, query: &LogQuery) -> Result<LogsView, Failure> {
        match self {
            Door::Database(client) => Ok(client.logs(id, query.clone()).await?.into()),
            Door::Server(remote) => {
                let attempt = query.attempt.map(|attempt| attempt.to_string());
                let ask = Ask::get(["jobs", &id.to_string(), "logs"])
                    .with_some("attempt", attempt.as_deref())
                    .with("level", query.level.as_str())
                    .with("after", &LogsView::text(query.after))
                    .with("limit", &query.limit.to_string());
                remote.read(&ask).await
            }
        }
    }

    /// Cancels a job: at once while it waits. Answers with its state then.
    pub async fn cancel(&self, id: JobId, ask: Cancel) -> Result<State, Failure> {
        let Cancel { by, why, user } = ask;
        match self {
            Door::Database(client) => {
                Ok(client.cancel(id, AskCancel { by: by.or(user), why }).await?)
            }
            Door::Server(remote) => {
                nobody_else(by.as_ref())?;
                let ask = Ask::post(["jobs", &id.to_string(), "cancel"]).json(&CancelBody { why });
                let shown: ShownView = remote.read(&ask).await?;
                Ok(shown.job.state)
            }
        }
    }

    /// Makes a waiting job due now.
    pub async fn run_now(&self, id: JobId) -> Result<(), Failure> {
        match self {
            Door::Database(client) => {
                client.edit(id, Edit::new().run_now()).await?;
                Ok(())
            }
            Door::Server(remote) => {
                remote.done(&Ask::post(["jobs", &id.to_string(), "run-now"])).await
            }
        }
    }

    /// Gives a waiting job another time.
    pub async fn reschedule(&self, id: JobId, when: &RescheduleBody) -> Result<(), Failure> {
        match self {
            Door::Database(client) => {
                let RescheduleBody { run_at, run_in } = when.clone();
                let edit = EditBody { run_at, run_in, ..EditBody::default() }.into_edit()?;
                client.edit(id, edit).await?;
                Ok(())
            }
            Door::Server(remote) => {
                remote.done(&Ask::post(["jobs", &id.to_string(), "reschedule"]).json(when)).await
            }
        }
    }

    /// Changes a waiting job; answers with its version then. `payload`: byte for byte.
    pub async fn edit(&self, id: JobId, change: Change<'_>) -> Result<u32, Failure> {
        let Change { body, payload, if_version } = change;
        let mut edit = body.clone().into_edit()?;
        match self {
            Door::Database(client) => {
                if let Some(payload) = payload {
                    edit = edit.payload(payload);
                }
                if let Some(version) = if_version {
                    edit = edit.if_version(version);
                }
                Ok(client.edit(id, edit).await?)
            }
            Door::Server(remote) => {
                let payload = payload.map(raw).transpose()?;
                let ask = Ask::patch(["jobs", &id.to_string()])
                    .json(&EditBody { payload, ..body })
                    .if_version(if_version);
                let shown: ShownView = remote.read(&ask).await?;
                Ok(shown.job.version)
            }
        }
    }

    /// Makes a job run again.
    pub async fn retry(&self, id: JobId, again: Retry<'_>) -> Result<(), Failure> {
        let Retry { attempts, payload, payload_version } = again;
        let mut edit = Edit::new();
        if let Some(version) = payload_version {
            edit = edit.payload_version(within("payload_version", version, VERSIONS)?);
        }
        match self {
            Door::Database(client) => {
                if let Some(payload) = payload {
                    edit = edit.payload(payload);
                }
                Ok(client.retry_with(id, attempts, edit).await?)
            }
            Door::Server(remote) => {
                let payload = payload.map(raw).transpose()?;
                let body = RetryBody { attempts: Some(attempts.into()), payload, payload_version };
                remote.done(&Ask::post(["jobs", &id.to_string(), "retry"]).json(&body)).await
            }
        }
    }

    /// Removes a job that does not run.
    pub async fn delete(&self, id: JobId) -> Result<(), Failure> {
        match self {
            Door::Database(client) => Ok(client.delete(id).await?),
            Door::Server(remote) => remote.done(&Ask::delete(["jobs", &id.to_string()])).await,
        }
    }
}

async fn shown(client: &Client, job: JobRow) -> Result<ShownView, Failure> {
    let progress = client.progress(job.id).await?;
    Ok(ShownView { job: job.into(), progress })
}

/// How a cancel is asked for.
pub(crate) struct Cancel {
    /// Who, if somebody said.
    pub by: Option<String>,
    pub why: Option<String>,
    /// Who works here.
    pub user: Option<String>,
}

/// A change to a waiting job.
#[derive(Default)]
pub(crate) struct Change<'a> {
    pub body: EditBody<'a>,
    pub payload: Option<&'a str>,
    pub if_version: Option<u32>,
}

/// How a job runs again.
#[derive(Clone, Copy)]
pub(crate) struct Retry<'a> {
    pub attempts: u32,
    pub payload: Option<&'a str>,
    pub payload_version: Option<i128>,
}
