//! Operations: one action on all jobs that match.

use longshore::operation::{NewOperation, OperationAsk, OperationId};
use longshore::{Helper, Timestamp};
use longshore_server::wire::{DryRunView, OperationBody, OperationView, OperationsView};

use super::Door;
use crate::exit::Failure;
use crate::remote::Ask;

impl Door {
    /// How many jobs an operation would meet. `by`: who works here.
    pub async fn try_operation(
        &self,
        body: OperationBody,
        by: &str,
    ) -> Result<DryRunView, Failure> {
        match self {
            Door::Database(client) => {
                let new = new_operation(&body, client.now().await?, by)?;
                Ok(client.try_operation(&new).await?.into())
            }
            Door::Server(remote) => {
                let body = OperationBody { dry_run: true, ..body };
                remote.read(&Ask::post(["operations"]).json(&body)).await
            }
        }
    }

    /// Starts an operation.
    pub async fn start_operation(
        &self,
        body: OperationBody,
        by: &str,
    ) -> Result<OperationView, Failure> {
        match self {
            Door::Database(client) => {
                let new = new_operation(&body, client.now().await?, by)?;
                Ok(client.start_operation(new).await?.into())
            }
            Door::Server(remote) => remote.read(&Ask::post(["operations"]).json(&body)).await,
        }
    }

    /// How an operation stands.
    pub async fn operation(&self, id: OperationId) -> Result<OperationView, Failure> {
        match self {
            Door::Database(client) => Ok(client.operation(id).await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["operations", &id.to_string()])).await,
        }
    }

    /// Operations, newest first.
    pub async fn operations(
        &self,
        after: Option<OperationId>,
        limit: u32,
    ) -> Result<OperationsView, Failure> {
        match self {
            Door::Database(client) => {
                let (rows, more) = client.operations(after, limit).await?;
                Ok(OperationsView::new(rows, more))
            }
            Door::Server(remote) => {
                let after = after.map(|id| id.to_string());
                let ask = Ask::get(["operations"])
                    .with("limit", &limit.to_string())
                    .with_some("after", after.as_deref());
                remote.read(&ask).await
            }
        }
    }

    /// Pauses, resumes or ends an operation.
    pub async fn ask_operation(
        &self,
        id: OperationId,
        ask: OperationAsk,
    ) -> Result<OperationView, Failure> {
        match self {
            Door::Database(client) => Ok(client.ask_operation(id, ask).await?.into()),
            Door::Server(remote) => {
                let word = match ask {
                    OperationAsk::Pause => "pause",
                    OperationAsk::Resume => "resume",
                    OperationAsk::Cancel => "cancel",
                };
                remote.read(&Ask::post(["operations", &id.to_string(), word])).await
            }
        }
    }

    /// Does operations' steps here while nobody leads. Behind a server, its nodes do.
    pub fn help_with_operations(&self) -> Option<Helper> {
        match self {
            Door::Database(client) => Some(client.help_with_operations()),
            Door::Server(_) => None,
        }
    }
}

fn new_operation(body: &OperationBody, now: Timestamp, by: &str) -> Result<NewOperation, Failure> {
    Ok(body.operation(body.action(now)?, by)?)
}
