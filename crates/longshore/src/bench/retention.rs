//! Pruning under a steady load: does the table level out, and does anybody wait for it?

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;

use super::seen::job;
use super::{KIND, QUEUE, Refused};
use crate::client::Client;
use crate::job::NewJob;
use crate::observe::Gauges;
use crate::store::{
    ANY_VERSION, Claim, Ending, Held, Keep, KindAsk, LANES, Lead, NewNode, NodeId, QueueAsk,
    Repeat, RetentionRule, RetentionScope, START, Store, StoreError,
};
use crate::upkeep;

/// What to measure.
#[derive(Clone, Debug)]
pub struct RetentionOptions {
    /// How long ended jobs are kept.
    pub keep: Duration,
    /// How long it goes on with the prune.
    pub run_for: Duration,
    /// And before that without, to compare with.
    pub without_for: Duration,
    /// Finishes a second.
    pub per_s: u32,
    /// How often the table's size is looked at.
    pub look_every: Duration,
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RetentionReport {
    /// `sqlite` or `postgres`.
    pub backend: String,
    /// How long ended jobs were kept, in seconds.
    pub keep_s: f64,
    /// The table over time, from the start of the prune on.
    pub sizes: Vec<Size>,
    /// The calls of finish without the prune.
    pub without: Waits,
    /// And with it.
    pub with: Waits,
    /// The longest that the prune was behind once one span of keeping was over.
    pub longest_lag_ms: u64,
    /// Jobs that it removed.
    pub pruned: u64,
}

/// The table at one time.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Size {
    /// Seconds since the prune began.
    pub at_s: f64,
    /// Rows in history.
    pub rows: i64,
    /// Bytes of history with its indexes; on SQLite of the whole file with its side file.
    pub bytes: i64,
    /// How far the prune was behind.
    pub lag_ms: u64,
}

/// How long calls of finish took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Waits {
    /// How many.
    pub calls: usize,
    /// Finishes a second.
    pub per_s: f64,
    /// Half were faster.
    pub p50_ms: f64,
    /// 99 of 100 were faster.
    pub p99_ms: f64,
    /// 999 of 1,000 were faster.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// So often a batch is enqueued, claimed and finished.
const TICK: Duration = Duration::from_millis(10);

/// Measures; the rule it sets goes when it is over.
pub async fn retention(
    client: &Client,
    options: &RetentionOptions,
    say: impl Fn(&Size),
) -> Result<RetentionReport, Refused> {
    let foreign = client.store().meter().foreign_jobs().await?;
    if foreign > 0 {
        return Err(Refused::ForeignJobs(foreign));
    }
    let scope = RetentionScope { kind: Some(KIND.to_owned()), ..RetentionScope::default() };
    let rule = RetentionRule { scope: scope.clone(), keep: Keep::For(options.keep) };
    client.set_retention(rule).await?;
    let measured = measure(client, options, say).await;
    client.remove_retention(scope).await?;
    client.store().meter().clear().await?;
    measured
}

async fn measure(
    client: &Client,
    options: &RetentionOptions,
    say: impl Fn(&Size),
) -> Result<RetentionReport, Refused> {
    let store = Arc::clone(client.store());
    let node = NodeId::new();
    let load = Load { store: Arc::clone(&store), node, per_s: options.per_s };
    let mut report = RetentionReport {
        backend: store.backend().to_owned(),
        keep_s: options.keep.as_secs_f64(),
        ..RetentionReport::default()
    };
    let joined = load.join(options.without_for + options.run_for + Duration::from_secs(600));
    joined.await?;
    let task = client.engine().spawn(load.clone().run(options.without_for));
    report.without = task.await.expect("it does not panic")?;

    let term = store.lead(node, Duration::from_secs(86_400)).await?;
    let lead = term.map(|term| Lead { node, term });
    let gauges = Gauges::default();
    let (tell, leads) = watch::channel(lead);
    let prune = upkeep::prune(Arc::clone(&store), leads, gauges.clone());
    let prune = client.engine().spawn(prune);
    let task = client.engine().spawn(load.run(options.run_for));
    let began = Instant::now();
    while !task.is_finished() {
        tokio::time::sleep(options.look_every).await;
        let (rows, bytes) = store.meter().history_size().await?;
        let lag_ms = gauges.health().prune_lag_ms.unwrap_or_default();
        let at_s = began.elapsed().as_secs_f64();
        if began.elapsed() > options.keep {
            report.longest_lag_ms = report.longest_lag_ms.max(lag_ms);
        }
        let size = Size { at_s, rows, bytes, lag_ms };
        say(&size);
        report.sizes.push(size);
    }
    report.with = task.await.expect("it does not panic")?;
    report.pruned = gauges.health().pruned_total;
    drop(tell);
    let _ = prune.await;
    if let Some(lead) = lead {
        store.resign(lead).await?;
    }
    store.leave(node).await?;
    Ok(report)
}

#[derive(Clone)]
struct Load {
    store: Arc<dyn Store>,
    node: NodeId,
    per_s: u32,
}

impl Load {
    async fn join(&self, lease_for: Duration) -> Result<(), StoreError> {
        let node = NewNode {
            id: self.node,
            name: "bench".to_owned(),
            version: String::new(),
            queues: vec![(QUEUE.to_owned(), self.per_s)],
            kinds: vec![KIND.to_owned()],
            lease_for,
            wish: None,
            known: Vec::new(),
            remote: None,
        };
        self.store.join(&node).await
    }

    /// Batch after batch, at the rate asked for, as long as the database keeps up.
    async fn run(self, span: Duration) -> Result<Waits, StoreError> {
        let kinds = [KindAsk { kind: KIND.to_owned(), version: ANY_VERSION }];
        let mut marks = [START; LANES];
        let (mut waits, mut done) = (Vec::new(), 0_u64);
        let began = Instant::now();
        let mut no = i64::from(fastrand::u32(..)) << 20;
        while began.elapsed() < span {
            let due = (began.elapsed().as_secs_f64() * f64::from(self.per_s)) as u64;
            let batch = due.saturating_sub(done).min(500) as u32;
            if batch == 0 {
                tokio::time::sleep(TICK).await;
                continue;
            }
            let jobs: Vec<NewJob> = (0..batch).map(job).collect();
            self.store.enqueue(&jobs, Repeat::No).await?;
            no += 1;
            let queues = &[QueueAsk { queue: QUEUE.to_owned(), limit: batch, marks }];
            let claim = Claim { node: self.node, no, queues, kinds: &kinds, most: None };
            let claimed = self.store.claim(&claim).await?;
            if let Some(last) = claimed.jobs.last() {
                marks[usize::from(last.priority)] = (last.run_at, last.id.as_uuid());
            }
            let ends: Vec<_> = claimed
                .jobs
                .iter()
                .map(|job| {
                    (Held { id: job.id, lease: job.lease }, Ending::Succeeded { output: None })
                })
                .collect();
            let call = Instant::now();
            self.store.finish(self.node, &ends).await?;
            waits.push(call.elapsed());
            done += ends.len() as u64;
            tokio::time::sleep(TICK.saturating_sub(call.elapsed())).await;
        }
        Ok(Waits::of(waits, done as f64 / began.elapsed().as_secs_f64()))
    }
}

impl Waits {
    fn of(mut waits: Vec<Duration>, per_s: f64) -> Waits {
        waits.sort_unstable();
        let at = |part: f64| {
            let nth = ((waits.len() as f64 * part) as usize).min(waits.len().saturating_sub(1));
            waits.get(nth).map_or(0.0, |wait| wait.as_secs_f64() * 1e3)
        };
        Waits {
            calls: waits.len(),
            per_s,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: at(1.0),
        }
    }
}
