//! `kinds`: what nodes can run.

use longshore::Timestamp;
use longshore::store::PauseScope;
use longshore_server::wire::KindView;

use super::Context;
use super::queues::{pause, pause_words, resume};
use crate::args::KindsCommand;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json, table, visible};

pub(super) async fn run(context: Context, command: KindsCommand) -> Result<Exit, Failure> {
    let door = Door::existing(&context).await?;
    match command {
        KindsCommand::List => {
            let all = door.kinds().await?;
            if context.json {
                json(&all)?;
            } else {
                let now = Timestamp::now();
                let rows = all.kinds.iter().map(|kind| row(kind, now)).collect();
                table(["KIND", "VERSION", "NODES", "SCHEMA", "SEEN", "PAUSED"], rows)?;
            }
        }
        KindsCommand::Show { name } => {
            let kind = door.kinds().await?.kinds.into_iter().find(|kind| kind.name == name);
            let Some(kind) = kind else {
                let words = format!("no node has said that it knows the kind {}", visible(&name));
                return Err(Failure::new(Exit::NotFound, words));
            };
            if context.json {
                json(&kind)?;
            } else {
                show(&kind)?;
            }
        }
        KindsCommand::Pause(args) => pause(&context, &door, PauseScope::Kind, args).await?,
        KindsCommand::Resume { name } => {
            resume(&context, &door, PauseScope::Kind, &name).await?;
        }
    }
    Ok(Exit::Ok)
}

fn version(kind: &KindView) -> String {
    kind.version.map_or("any".to_owned(), |version| version.to_string())
}

fn row(kind: &KindView, now: Timestamp) -> [String; 6] {
    [
        kind.name.clone(),
        version(kind),
        kind.nodes.to_string(),
        if kind.schema.is_some() { "yes" } else { "no" }.to_owned(),
        kind.seen_at.map(|at| distance(at, now)).unwrap_or_default(),
        kind.paused.as_ref().map(|pause| pause_words(pause, now)).unwrap_or_default(),
    ]
}

fn show(kind: &KindView) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut facts = vec![
        ("kind", kind.name.clone()),
        ("version", version(kind)),
        ("live nodes", kind.nodes.to_string()),
    ];
    if let Some(at) = kind.seen_at {
        facts.push(("seen", distance(at, now)));
    }
    if let Some(pause) = &kind.paused {
        facts.push(("paused", pause_words(pause, now)));
    }
    crate::print::facts(facts)?;
    match &kind.schema {
        Some(schema) => data(&format!("\n{schema}")),
        None => Ok(()),
    }
}
