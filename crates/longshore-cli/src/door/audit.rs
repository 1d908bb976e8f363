//! The audit log.

use longshore::audit::AuditQuery;
use longshore_server::wire::AuditView;

use super::Door;
use crate::exit::Failure;
use crate::remote::Ask;

impl Door {
    /// One page of it, newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditView, Failure> {
        match self {
            Door::Database(client) => Ok(client.audit(query.clone()).await?.into()),
            Door::Server(remote) => {
                let after = query.before.map(|id| id.to_string());
                let ask = Ask::get(["audit"])
                    .with_some("actor", query.actor.as_deref())
                    .with_some("action", query.action.as_deref())
                    .with_some("after", after.as_deref())
                    .with("limit", &query.limit.to_string());
                remote.read(&ask).await
            }
        }
    }
}
