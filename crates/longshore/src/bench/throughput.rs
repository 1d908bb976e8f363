//! Jobs a second: in, and through.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{KIND, Options, QUEUE, Refused, Report, Rows, Seen, job, until_ended, worker};
use crate::client::Client;
use crate::job::NewJob;
use crate::store::{
    ANY_VERSION, Claim, Ending, Held, KindAsk, LANES, NewNode, NodeId, QueueAsk, Repeat, Result,
    START, Store, StoreError,
};

const CALLERS: usize = 16;
const ONE_BY_ONE: u32 = 5_000;
/// Jobs of one call by the list.
const A_CALL: u32 = 5_000;
/// Jobs of one statement of the floor; the worker's own batch.
const A_STATEMENT: u32 = 500;

pub(super) async fn one_by_one(client: &Client) -> Result<f64> {
    let next = Arc::new(AtomicU32::new(0));
    let from = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (client, next) = (client.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= ONE_BY_ONE {
                        return Ok::<(), StoreError>(());
                    }
                    client.enqueue(job(n)).await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("it does not panic")?;
    }
    Ok(f64::from(ONE_BY_ONE) / from.elapsed().as_secs_f64())
}

/// The same statements, in a loop of four lines.
pub(super) async fn floor(client: &Client, options: &Options, report: &mut Report) -> Result<()> {
    let (store, jobs) = (Arc::clone(client.store()), options.jobs);
    let pinned = pin(client, options).await?;
    let measured = client.engine().run(async move {
        let batches: Vec<Vec<NewJob>> = (0..jobs)
            .step_by(A_STATEMENT as usize)
            .map(|first| (first..jobs.min(first + A_STATEMENT)).map(job).collect())
            .collect();
        let from = Instant::now();
        for batch in &batches {
            store.enqueue(batch, Repeat::No).await?;
        }
        let enqueue_s = from.elapsed().as_secs_f64();
        store.meter().settle().await?;
        let node = join(&*store).await?;
        let from = Instant::now();
        drain_bare(&*store, node, jobs).await?;
        let drain_s = from.elapsed().as_secs_f64();
        store.leave(node).await?;
        Ok::<_, StoreError>((enqueue_s, drain_s))
    });
    let (enqueue_s, drain_s) = measured.await?;
    drop(pinned);
    report.enqueue_bulk_floor_per_s = f64::from(jobs) / enqueue_s;
    report.drain_floor_per_s = f64::from(jobs) / drain_s;
    Ok(())
}

async fn join(store: &dyn Store) -> Result<NodeId> {
    let id = NodeId::new();
    let node = NewNode {
        id,
        name: "floor".to_owned(),
        version: String::new(),
        queues: vec![(QUEUE.to_owned(), A_STATEMENT)],
        kinds: vec![KIND.to_owned()],
        lease_for: Duration::from_secs(600),
        wish: None,
        known: Vec::new(),
        remote: None,
    };
    store.join(&node).await?;
    Ok(id)
}

async fn drain_bare(store: &dyn Store, node: NodeId, jobs: u32) -> Result<()> {
    let kinds = [KindAsk { kind: KIND.to_owned(), version: ANY_VERSION }];
    let mut marks = [START; LANES];
    let (mut done, mut no) = (0, 0);
    while done < jobs as usize {
        no += 1;
        let ask = [QueueAsk { queue: QUEUE.to_owned(), limit: A_STATEMENT, marks }];
        let claimed =
            store.claim(&Claim { node, no, queues: &ask, kinds: &kinds, most: None }).await?;
        if let Some(last) = claimed.jobs.last() {
            // As the worker's low-water mark does, or a pinned snapshot would slow the floor alone.
            marks[usize::from(last.priority)] = (last.run_at, last.id.as_uuid());
        }
        let ended: Vec<_> = claimed
            .jobs
            .iter()
            .map(|job| {
                let held = Held { id: job.id, lease: job.lease };
                (held, Ending::Succeeded { output: None })
            })
            .collect();
        done += store.finish(node, &ended).await?.len();
    }
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
    for runs in &seen.runs {
        match runs.load(Ordering::Relaxed) {
            0 => report.lost += 1,
            1 => {}
            _ => report.duplicates += 1,
        }
    }
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
