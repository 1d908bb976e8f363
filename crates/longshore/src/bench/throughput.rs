//! Jobs a second: in, and through.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::seen::{Seen, job};
use super::{Options, Refused, Report, Rows, bare, callers, until_ended, worker};
use crate::client::Client;
use crate::store::Result;

const CALLERS: u32 = 16;
const ONE_BY_ONE: u32 = 5_000;
/// Jobs of one call by the list.
pub(super) const A_CALL: u32 = 5_000;

pub(super) async fn one_by_one(client: &Client) -> Result<f64> {
    callers::by_client(client, CALLERS, ONE_BY_ONE).await
}

/// The same statements, in a loop of a few lines.
pub(super) async fn floor(
    client: &Client,
    options: &Options,
    report: &mut Report,
) -> Result<(), Refused> {
    let (store, jobs) = (Arc::clone(client.store()), options.jobs);
    let pinned = pin(client, options).await?;
    let measured = client.engine().run(async move {
        let enqueued = bare::enqueue(&*store, 0..jobs, job).await?;
        store.meter().settle().await?;
        Ok::<_, Refused>((enqueued, bare::drain(&store, jobs).await?))
    });
    (report.enqueue_bulk_floor_per_s, report.drain_floor_per_s) = measured.await?;
    drop(pinned);
    Ok(())
}

pub(super) async fn drain(
    client: &Client,
    options: &Options,
    report: &mut Report,
) -> Result<(), Refused> {
    let meter = || client.store().meter();
    let pinned = pin(client, options).await?;
    let before_all = meter().counts().await?;
    let from = Instant::now();
    for first in (0..options.jobs).step_by(A_CALL as usize) {
        let call = (first..options.jobs.min(first + A_CALL)).map(job);
        client.enqueue_many(call).await?;
    }
    report.insert_bulk_per_s = f64::from(options.jobs) / from.elapsed().as_secs_f64();
    let after_enqueue = meter().counts().await?;
    meter().settle().await?;

    let before = meter().counts().await?;
    let seen = Seen::new(options.jobs);
    let working = worker(client, options.slots, &seen)?;
    until_ended(&working, options.jobs, Duration::from_millis(1)).await?;
    let end_s = seen.now_us() as f64 / 1e6;
    let after = meter().counts().await?;
    working.stop().await;
    drop(pinned);

    report.drain_per_s = f64::from(options.jobs) / (end_s - seen.mark_s(0));
    report.drain_ratio = report.drain_per_s / report.drain_floor_per_s;
    let ends = [seen.mark_s(1), seen.mark_s(2), seen.mark_s(3), end_s];
    for (quarter, end) in ends.into_iter().enumerate() {
        report.drain_quarters_s[quarter] = end - seen.mark_s(quarter);
    }
    (report.lost, report.duplicates) = seen.missed(options.jobs);
    let jobs = f64::from(options.jobs);
    let each = |from: Option<i64>, to: Option<i64>| Some((to? - from?) as f64 / jobs);
    let enqueue_wal = each(before_all.wal_bytes, after_enqueue.wal_bytes);
    let enqueue_commits = each(before_all.commits, after_enqueue.commits);
    report.drain_wal_bytes_per_job = each(before.wal_bytes, after.wal_bytes);
    report.total_wal_bytes_per_job = sum(enqueue_wal, report.drain_wal_bytes_per_job);
    report.commits_per_job = sum(enqueue_commits, each(before.commits, after.commits));
    report.drain_rows_per_job = rows(before.rows, after.rows, jobs);
    Ok(())
}

/// A snapshot that nothing before it has burdened, if one is asked for.
async fn pin(client: &Client, options: &Options) -> Result<Option<Box<dyn Any + Send>>> {
    match options.pin_snapshot {
        true => client.store().meter().pin().await.map(Some),
        false => Ok(None),
    }
}

fn rows(from: Option<Rows>, to: Option<Rows>, jobs: f64) -> Option<Rows> {
    let (from, to) = (from?, to?);
    Some(Rows {
        ins: (to.ins - from.ins) / jobs,
        upd: (to.upd - from.upd) / jobs,
        hot: (to.hot - from.hot) / jobs,
        del: (to.del - from.del) / jobs,
    })
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}
