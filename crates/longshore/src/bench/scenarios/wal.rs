//! What is written: write-ahead log and commits a job, and the dead rows that are left.

use super::super::load::{self, Load};
use super::super::scenario::Stage;
use super::super::seen::job;
use super::super::{Counts, Refused, callers, steady};

const CALLERS: u32 = 16;
/// What is done in both runs, in this order.
const STEPS: [&str; 3] = ["enqueue one by one, 16 callers", "enqueue by the list", "drain"];

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, slots) = (stage.client.clone(), stage.options.slots);
    if client.store().meter().counts().await?.wal_bytes.is_none() {
        stage.say("this database counts nothing of it");
        for step in STEPS {
            stage.row(format!("{step}: log a job"), "bytes", None, None);
            stage.row(format!("{step}: commits a job"), "commits", None, None);
        }
        stage.row("dead row versions after a steady load", "rows", None, None);
        return Ok(());
    }
    let floor = bare(stage).await?;
    stage.clear().await?;
    let figure = worker(stage).await?;
    stage.clear().await?;
    for (n, step) in STEPS.into_iter().enumerate() {
        let of = |written: &[Written; 3], what: fn(&Written) -> Option<f64>| what(&written[n]);
        let (bytes, commits) = (|w: &Written| w.bytes, |w: &Written| w.commits);
        stage.row(format!("{step}: log a job"), "bytes", of(&figure, bytes), of(&floor, bytes));
        let (figure, floor) = (of(&figure, commits), of(&floor, commits));
        stage.row(format!("{step}: commits a job"), "commits", figure, floor);
    }

    stage.say(format!("a steady load, {:?}", stage.run_for));
    let ran = steady::run(&client, slots, stage.run_for, 1).await?;
    stage.missed(ran.missed);
    // It waits until sessions have told what they did.
    client.store().meter().counts().await?;
    let dead = client.store().meter().dead_rows().await?;
    let dead = dead.map(|rows| rows as f64);
    stage.row("dead row versions after a steady load", "rows", dead, None);
    Ok(())
}

/// What a step wrote, a job.
struct Written {
    bytes: Option<f64>,
    commits: Option<f64>,
}

impl Written {
    fn between(from: &Counts, to: &Counts, jobs: u32) -> Written {
        let each =
            |from: Option<i64>, to: Option<i64>| Some((to? - from?) as f64 / f64::from(jobs));
        Written {
            bytes: each(from.wal_bytes, to.wal_bytes),
            commits: each(from.commits, to.commits),
        }
    }
}

async fn bare(stage: &Stage) -> Result<[Written; 3], Refused> {
    let (client, jobs) = (&stage.client, stage.jobs);
    stage.say("the floor: bare callers and bare loops");
    let meter = || client.store().meter();
    let begun = meter().counts().await?;
    callers::bare(client, CALLERS, jobs).await?;
    let alone = meter().counts().await?;
    load::add_bare(client, jobs..2 * jobs).await?;
    let listed = meter().counts().await?;
    load::drain_bare(client, 2 * jobs).await?;
    let drained = meter().counts().await?;
    Ok(steps(jobs, &[begun, alone, listed, drained]))
}

async fn worker(stage: &mut Stage) -> Result<[Written; 3], Refused> {
    let (client, jobs) = (stage.client.clone(), stage.jobs);
    stage.say("the same through a client and a worker");
    let meter = || client.store().meter();
    let begun = meter().counts().await?;
    callers::by_client(&client, CALLERS, jobs).await?;
    let alone = meter().counts().await?;
    load::add(&client, jobs..2 * jobs, job).await?;
    let listed = meter().counts().await?;
    let (_, missed) = Load::plain(2 * jobs).by_worker(&client, stage.options.slots).await?;
    let drained = meter().counts().await?;
    stage.missed(missed);
    Ok(steps(jobs, &[begun, alone, listed, drained]))
}

/// The drain is of both lots.
fn steps(jobs: u32, [begun, alone, listed, drained]: &[Counts; 4]) -> [Written; 3] {
    [
        Written::between(begun, alone, jobs),
        Written::between(alone, listed, jobs),
        Written::between(listed, drained, 2 * jobs),
    ]
}
