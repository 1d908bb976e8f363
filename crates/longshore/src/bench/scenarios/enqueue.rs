//! Jobs in: one a call, by the list, in callers' transactions.

use std::sync::Arc;
use std::time::Instant;

use super::super::bare::batches;
use super::super::scenario::Stage;
use super::super::seen::job;
use super::super::throughput::A_CALL;
use super::super::{Desk, Refused, callers, load};

const UNIT: &str = "jobs/s";
/// Callers that work in transactions of their own.
const IN_TX: u32 = 16;

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let jobs = stage.jobs;
    for callers in [1, 16, 64] {
        // One caller waits for each commit: it is slow, and needs no more to be measured.
        let jobs = if callers == 1 { (jobs / 10).max(1) } else { jobs };
        stage.say(format!("{jobs} jobs, one a call, {callers} callers"));
        let floor = callers::bare(&stage.client, callers, jobs).await?;
        check(stage, jobs).await?;
        let figure = callers::by_client(&stage.client, callers, jobs).await?;
        check(stage, jobs).await?;
        let many = if callers == 1 { "caller" } else { "callers" };
        stage.beside(format!("one job a call, {callers} {many}"), UNIT, figure, floor);
    }

    stage.say(format!("{jobs} jobs by the list"));
    let floor = load::add_bare(&stage.client, 0..jobs).await?;
    check(stage, jobs).await?;
    let from = Instant::now();
    load::add(&stage.client, 0..jobs, job).await?;
    let figure = f64::from(jobs) / from.elapsed().as_secs_f64();
    check(stage, jobs).await?;
    stage.beside("by the list", UNIT, figure, floor);
    let calls = batches(0..jobs, A_CALL, job);
    if let Some(took) = stage.client.store().meter().plain_copy(&calls).await? {
        let plain = f64::from(jobs) / took.as_secs_f64();
        stage.beside("by the list, beside plain COPY", UNIT, figure, plain);
    }

    let Some(desk) = stage.client.store().meter().desk(IN_TX).await? else { return Ok(()) };
    // As with one caller: each has to wait for a commit.
    let jobs = (jobs / 4).max(1);
    stage.say(format!("{jobs} jobs, each in a transaction of {IN_TX} callers"));
    let desk: Arc<dyn Desk> = Arc::from(desk);
    let floor = callers::in_tx_bare(stage.client.store(), &desk, IN_TX, jobs).await?;
    check(stage, jobs).await?;
    let figure = callers::in_tx(&stage.client, &desk, IN_TX, jobs).await?;
    check(stage, jobs).await?;
    desk.close().await;
    stage.beside(format!("in a caller's transaction, {IN_TX} callers"), UNIT, figure, floor);
    Ok(())
}

/// Each is there once; then all go.
async fn check(stage: &mut Stage, jobs: u32) -> Result<(), Refused> {
    let (there, _) = stage.client.store().meter().own_jobs().await?;
    let jobs = u64::from(jobs);
    stage.missed((jobs.saturating_sub(there), there.saturating_sub(jobs)));
    stage.clear().await
}
