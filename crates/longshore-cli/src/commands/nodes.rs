//! `nodes`: the processes that run jobs.

use longshore::Timestamp;
use longshore::store::{NodeRow, NodeState, Wish};

use super::Context;
use crate::args::NodesCommand;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json, table};

pub(super) async fn run(context: Context, command: NodesCommand) -> Result<Exit, Failure> {
    let client = open_existing(&context.settings).await?;
    let id = match command {
        NodesCommand::List => return list(&context, client.nodes().await?),
        NodesCommand::Quiet { id } => client.quiet_node(id).await.map(|()| id)?,
        NodesCommand::Resume { id } => client.resume_node(id).await.map(|()| id)?,
        NodesCommand::Stop { id } => client.stop_node(id).await.map(|()| id)?,
    };
    if context.json {
        json(&serde_json::json!({ "asked": id }))?;
    } else {
        data(&format!("node {id} is asked; `nodes list` says when it has heard of it"))?;
    }
    Ok(Exit::Ok)
}

fn list(context: &Context, nodes: Vec<NodeRow>) -> Result<Exit, Failure> {
    if context.json {
        json(&serde_json::json!({ "nodes": nodes }))?;
    } else {
        let now = Timestamp::now();
        let rows = nodes.iter().map(|node| row(node, now)).collect();
        table(
            ["ID", "NAME", "VERSION", "STATE", "RUNNING", "QUEUES", "STARTED", "LEASE ENDS"],
            rows,
        )?;
    }
    Ok(Exit::Ok)
}

/// What it is at, and what it was asked to be, where it has not heard of that yet.
fn state(node: &NodeRow) -> String {
    if !node.live {
        return "lost".to_owned();
    }
    match (node.wish, node.state) {
        (Some(Wish::Quiet), NodeState::Serving) => "live, asked to be quiet".to_owned(),
        (Some(Wish::Stop), NodeState::Serving | NodeState::Quiet) => {
            "live, asked to stop".to_owned()
        }
        (None, NodeState::Quiet) => "quiet, asked to serve".to_owned(),
        (_, NodeState::Serving) => "live".to_owned(),
        (_, state) => state.as_str().to_owned(),
    }
}

fn row(node: &NodeRow, now: Timestamp) -> [String; 8] {
    let queues: Vec<String> =
        node.queues.iter().map(|(name, slots)| format!("{name}={slots}")).collect();
    [
        node.id.to_string(),
        node.name.clone(),
        node.version.clone(),
        state(node),
        node.running.to_string(),
        queues.join(" "),
        distance(node.started_at, now),
        distance(node.expires_at, now),
    ]
}
