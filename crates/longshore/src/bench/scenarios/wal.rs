//! What is written: write-ahead log and commits a job, and the dead rows that are left.

use super::super::load::{self, Load};
use super::super::scenario::Stage;
use super::super::seen::job;
use super::super::{Refused, Written, callers, steady};
use crate::client::Client;

const CALLERS: u32 = 16;
/// What is done in both runs, in this order.
const STEPS: [&str; 3] = ["enqueue one by one, 16 callers", "enqueue by the list", "drain"];
const DEAD: &str = "dead row versions after a steady load";

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, slots) = (stage.client.clone(), stage.options.slots);
    let floor = bare(stage).await?;
    stage.clear().await?;
    let figure = match floor {
        Some(_) => worker(stage).await?,
        None => None,
    };
    for (n, step) in STEPS.into_iter().enumerate() {
        let of = |written: &Option<[Each; 3]>| written.as_ref().map(|steps| steps[n]);
        let (figure, floor) = (of(&figure), of(&floor));
        let bytes = |each: Each| each.bytes;
        let commits = |each: Each| each.commits;
        stage.row(format!("{step}: log a job"), "bytes", figure.map(bytes), floor.map(bytes));
        let (figure, floor) = (figure.map(commits), floor.map(commits));
        stage.row(format!("{step}: commits a job"), "commits", figure, floor);
    }
    if figure.is_none() {
        stage.say("this database counts nothing of it");
        stage.row(DEAD, "rows", None, None);
        return Ok(());
    }

    stage.clear().await?;
    stage.say(format!("a steady load, {:?}", stage.run_for));
    let ran = steady::run(&client, slots, stage.run_for, 1).await?;
    stage.missed(ran.missed);
    // It waits until sessions have told what they did.
    client.store().meter().counts().await?;
    let dead = client.store().meter().dead_rows().await?;
    stage.row(DEAD, "rows", dead.map(|rows| rows as f64), None);
    Ok(())
}

/// What a step wrote, a job.
#[derive(Clone, Copy)]
struct Each {
    bytes: f64,
    commits: f64,
}

impl Each {
    fn between(from: Written, to: Written, jobs: u32) -> Each {
        let each = |from: i64, to: i64| (to - from) as f64 / f64::from(jobs);
        Each {
            bytes: each(from.wal_bytes, to.wal_bytes),
            commits: each(from.transactions, to.transactions),
        }
    }
}

async fn written(client: &Client) -> Result<Option<Written>, Refused> {
    Ok(client.store().meter().written().await?)
}

/// `None` where nobody counts; then nothing is done.
async fn bare(stage: &Stage) -> Result<Option<[Each; 3]>, Refused> {
    let (client, jobs) = (&stage.client, stage.jobs);
    let Some(begun) = written(client).await? else { return Ok(None) };
    stage.say("the floor: bare callers and bare loops");
    callers::bare(client, CALLERS, jobs).await?;
    let alone = written(client).await?;
    load::add_bare(client, jobs..2 * jobs).await?;
    let listed = written(client).await?;
    load::drain_bare(client, 2 * jobs).await?;
    let drained = written(client).await?;
    Ok(steps(jobs, begun, alone, listed, drained))
}

async fn worker(stage: &mut Stage) -> Result<Option<[Each; 3]>, Refused> {
    let (client, jobs) = (stage.client.clone(), stage.jobs);
    let Some(begun) = written(&client).await? else { return Ok(None) };
    stage.say("the same through a client and a worker");
    callers::by_client(&client, CALLERS, jobs).await?;
    let alone = written(&client).await?;
    load::add(&client, jobs..2 * jobs, job).await?;
    let listed = written(&client).await?;
    let (_, missed) = Load::plain(2 * jobs).by_worker(&client, stage.options.slots).await?;
    let drained = written(&client).await?;
    stage.missed(missed);
    Ok(steps(jobs, begun, alone, listed, drained))
}

/// The drain is of both lots.
fn steps(
    jobs: u32,
    begun: Written,
    alone: Option<Written>,
    listed: Option<Written>,
    drained: Option<Written>,
) -> Option<[Each; 3]> {
    let (alone, listed, drained) = (alone?, listed?, drained?);
    Some([
        Each::between(begun, alone, jobs),
        Each::between(alone, listed, jobs),
        Each::between(listed, drained, 2 * jobs),
    ])
}
