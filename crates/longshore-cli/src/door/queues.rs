//! Queues, kinds and nodes.

use longshore::store::{NodeId, PauseScope};
use longshore_server::wire::{
    EmptiedView, KindsView, NodesView, PauseBody, PauseView, QueueView, QueuesView, ResumedView,
};

use super::{Door, nobody_else};
use crate::exit::{Exit, Failure};
use crate::remote::Ask;

/// How a pause is asked for.
pub(crate) struct PauseAsk {
    pub scope: PauseScope,
    pub name: String,
    pub body: PauseBody,
    /// Who, if somebody said.
    pub by: Option<String>,
    /// Who works here.
    pub user: Option<String>,
}

/// What a node may be asked.
#[derive(Clone, Copy)]
pub(crate) enum NodeAsk {
    Quiet,
    Resume,
    Stop,
}

impl Door {
    /// All queues that somebody knows of.
    pub async fn queues(&self) -> Result<QueuesView, Failure> {
        match self {
            Door::Database(client) => Ok(client.queues().await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["queues"])).await,
        }
    }

    /// All kinds that somebody knows of.
    pub async fn kinds(&self) -> Result<KindsView, Failure> {
        match self {
            Door::Database(client) => Ok(client.kinds().await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["kinds"])).await,
        }
    }

    /// Pauses a queue or a kind.
    pub async fn pause(&self, ask: PauseAsk) -> Result<PauseView, Failure> {
        let PauseAsk { scope, name, body, by, user } = ask;
        match self {
            Door::Database(client) => {
                let pause = body.into_pause(scope, &name, by.or(user).as_deref())?;
                Ok(client.pause(pause).await?.into())
            }
            Door::Server(remote) => {
                nobody_else(by.as_ref())?;
                let ask = Ask::post([all(scope), &name, "pause"]).json(&body);
                match scope {
                    PauseScope::Kind => remote.read(&ask).await,
                    PauseScope::Queue => {
                        let queue: QueueView = remote.read(&ask).await?;
                        // Somebody may have ended it in between.
                        queue.paused.ok_or_else(|| {
                            Failure::new(Exit::Conflict, "somebody has ended the pause already")
                        })
                    }
                }
            }
        }
    }

    /// Ends a pause; whether there was one.
    pub async fn resume(&self, scope: PauseScope, name: &str) -> Result<bool, Failure> {
        match self {
            Door::Database(client) => Ok(client.resume(scope, name).await?),
            Door::Server(remote) => {
                let ResumedView { was_paused } =
                    remote.read(&Ask::post([all(scope), name, "resume"])).await?;
                Ok(was_paused)
            }
        }
    }

    /// Deletes the jobs that wait in a queue.
    pub async fn empty_queue(&self, name: &str) -> Result<EmptiedView, Failure> {
        match self {
            Door::Database(client) => Ok(EmptiedView { removed: client.empty_queue(name).await? }),
            Door::Server(remote) => remote.read(&Ask::post(["queues", name, "empty"])).await,
        }
    }

    /// All nodes, live ones first.
    pub async fn nodes(&self) -> Result<NodesView, Failure> {
        match self {
            Door::Database(client) => Ok(NodesView { nodes: client.nodes().await? }),
            Door::Server(remote) => remote.read(&Ask::get(["nodes"])).await,
        }
    }

    /// The nodes, if one may look at them: for a hint, which nothing depends on.
    pub async fn nodes_for_a_hint(&self) -> Result<Option<NodesView>, Failure> {
        match self.nodes().await {
            Err(failure) if failure.exit == Exit::Denied => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Asks something of a node.
    pub async fn ask_node(&self, id: NodeId, ask: NodeAsk) -> Result<(), Failure> {
        match self {
            Door::Database(client) => Ok(match ask {
                NodeAsk::Quiet => client.quiet_node(id).await,
                NodeAsk::Resume => client.resume_node(id).await,
                NodeAsk::Stop => client.stop_node(id).await,
            }?),
            Door::Server(remote) => {
                let word = match ask {
                    NodeAsk::Quiet => "quiet",
                    NodeAsk::Resume => "resume",
                    NodeAsk::Stop => "stop",
                };
                remote.done(&Ask::post(["nodes", &id.to_string(), word])).await
            }
        }
    }
}

fn all(scope: PauseScope) -> &'static str {
    match scope {
        PauseScope::Queue => "queues",
        PauseScope::Kind => "kinds",
    }
}
