//! `nodes`: the processes that run jobs.

use longshore::Timestamp;
use longshore::store::NodeRow;

use super::Context;
use crate::args::NodesCommand;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{distance, json, table};

pub(super) async fn run(context: Context, command: NodesCommand) -> Result<Exit, Failure> {
    let NodesCommand::List = command;
    let nodes = open_existing(&context.settings).await?.nodes().await?;
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

fn row(node: &NodeRow, now: Timestamp) -> [String; 8] {
    let queues: Vec<String> =
        node.queues.iter().map(|(name, slots)| format!("{name}={slots}")).collect();
    [
        node.id.to_string(),
        node.name.clone(),
        node.version.clone(),
        if node.live { "live" } else { "lost" }.to_owned(),
        node.running.to_string(),
        queues.join(" "),
        distance(node.started_at, now),
        distance(node.expires_at, now),
    ]
}
