//! `nodes`: the processes that run jobs.

use longshore::Timestamp;
use longshore::store::{NodeRow, NodeState, Wish};

use super::Context;
use crate::args::NodesCommand;
use crate::door::{Door, NodeAsk};
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json, table};
use longshore_server::wire::NodesView;

pub(super) async fn run(context: Context, command: NodesCommand) -> Result<Exit, Failure> {
    let door = Door::existing(&context).await?;
    let (id, ask) = match command {
        NodesCommand::List => return list(&context, door.nodes().await?),
        NodesCommand::Quiet { id } => (id, NodeAsk::Quiet),
        NodesCommand::Resume { id } => (id, NodeAsk::Resume),
        NodesCommand::Stop { id } => (id, NodeAsk::Stop),
    };
    door.ask_node(id, ask).await?;
    if context.json {
        json(&serde_json::json!({ "asked": id }))?;
    } else {
        data(&format!("node {id} is asked; `nodes list` says when it has heard of it"))?;
    }
    Ok(Exit::Ok)
}

fn list(context: &Context, all: NodesView) -> Result<Exit, Failure> {
    if context.json {
        json(&all)?;
    } else {
        let now = Timestamp::now();
        let rows = all.nodes.iter().map(|node| row(node, now)).collect();
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
        if node.remote { format!("{} (over HTTP)", node.name) } else { node.name.clone() },
        node.version.clone(),
        state(node),
        node.running.to_string(),
        queues.join(" "),
        distance(node.started_at, now),
        distance(node.expires_at, now),
    ]
}
