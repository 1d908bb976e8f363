//! `check-deploy`: would this program's handlers take the jobs that wait?

use std::collections::BTreeMap;

use longshore::query::Test;
use longshore::{Decoders, Fit, JobId, JobRow, State};
use serde::Serialize;

use super::{Context, serve};
use crate::args::CheckDeployArgs;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, grouped, json, short, table, visible};

/// Faulty jobs of a kind that are shown; the others are counted.
const SHOWN: usize = 5;
/// Kinds that are told apart. A database where somebody put ids into kinds must not fill the memory.
const MOST_KINDS: usize = 1_000;
/// What stands for all others.
const OTHERS: &str = "(others)";
/// Characters of an error in the table's list.
const MOST_ERROR: usize = 400;

/// All jobs of one kind.
#[derive(Default, Serialize)]
struct Kind {
    kind: String,
    jobs: u64,
    /// Their payloads fit.
    decodes: u64,
    /// Their handler takes payloads as they are.
    unchecked: u64,
    /// They wait for a program that knows their version.
    newer: u64,
    /// The greatest version among those.
    newest: Option<u32>,
    /// They wait for a program that knows their kind.
    unknown: u64,
    /// They would be dead at once.
    faulty: u64,
    /// The first of those.
    faults: Vec<Fault>,
}

#[derive(Serialize)]
struct Fault {
    id: JobId,
    error: String,
}

/// Exit 1 if any job would be dead or never run.
pub(super) async fn run(context: Context, args: CheckDeployArgs) -> Result<Exit, Failure> {
    // Running ones too: what runs now comes back when the old nodes stop.
    let mut states =
        vec![State::Scheduled, State::Queued, State::Blocked, State::Retrying, State::Running];
    states.extend(args.dead.then_some(State::Dead));
    let filter = args.which.filter()?.and(Test::State(states));
    let client = open_existing(&context.settings).await?;
    let decoders = serve::worker(&context, client.clone())?.decoders();

    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut export = client.export(filter).reveal();
    while let Some(jobs) = export.next().await? {
        for job in &jobs {
            note(&mut kinds, job, &decoders);
        }
    }
    client.close().await;

    let bad = kinds.values().any(|kind| kind.newer + kind.unknown + kind.faulty > 0);
    let kinds: Vec<Kind> = kinds.into_values().collect();
    if context.json {
        json(&serde_json::json!({ "ok": !bad, "kinds": kinds }))?;
    } else {
        show(&kinds)?;
    }
    Ok(if bad { Exit::Failed } else { Exit::Ok })
}

fn note(kinds: &mut BTreeMap<String, Kind>, job: &JobRow, decoders: &Decoders) {
    let apart = kinds.len() < MOST_KINDS || kinds.contains_key(&job.kind);
    let name = if apart { &job.kind } else { OTHERS };
    if !kinds.contains_key(name) {
        kinds.insert(name.to_owned(), Kind { kind: name.to_owned(), ..Kind::default() });
    }
    let kind = kinds.get_mut(name).expect("it was just put in");
    kind.jobs += 1;
    match decoders.fit(job) {
        Fit::Decodes => kind.decodes += 1,
        Fit::Unchecked => kind.unchecked += 1,
        Fit::Newer { .. } => {
            kind.newer += 1;
            kind.newest = kind.newest.max(Some(job.payload_version));
        }
        Fit::UnknownKind => kind.unknown += 1,
        Fit::Faulty { error } => {
            kind.faulty += 1;
            if kind.faults.len() < SHOWN {
                kind.faults.push(Fault { id: job.id, error });
            }
        }
    }
}

fn show(kinds: &[Kind]) -> Result<(), Failure> {
    if kinds.is_empty() {
        eprintln!("no job waits");
        return Ok(());
    }
    let row = |kind: &Kind| {
        let numbers =
            [kind.jobs, kind.decodes, kind.unchecked, kind.newer, kind.unknown, kind.faulty];
        let [jobs, decodes, unchecked, newer, unknown, faulty] = numbers.map(grouped);
        [kind.kind.clone(), jobs, decodes, unchecked, newer, unknown, faulty]
    };
    table(
        ["KIND", "JOBS", "DECODES", "UNCHECKED", "NEWER VERSION", "UNKNOWN KIND", "FAULTY"],
        kinds.iter().map(row).collect(),
    )?;
    for kind in kinds {
        if let Some(newest) = kind.newest {
            eprintln!(
                "{}: payloads of up to version {newest} wait for a program that knows them",
                visible(&kind.kind)
            );
        }
        for fault in &kind.faults {
            data(&format!("{}  {}", fault.id, visible(&short(&fault.error, MOST_ERROR))))?;
        }
        let more = kind.faulty - kind.faults.len() as u64;
        if more > 0 {
            data(&format!("{}: {} more are faulty", visible(&kind.kind), grouped(more)))?;
        }
    }
    Ok(())
}
