//! Several processes on one database.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::super::Refused;
use super::super::bare::Bare;
use super::super::children::{Children, Line};
use super::super::load::Load;
use super::super::scenario::Stage;
use super::super::seen::Seen;

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let load = Load::plain(stage.jobs);
    let most = stage.options.processes;
    let counts = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    for count in counts.take_while(|count| *count <= most) {
        let many = if count == 1 { "process" } else { "processes" };
        stage.say(format!("{count} {many} on {} jobs", load.jobs));
        load.fill(&stage.client).await?;
        let floor = loops(stage, count).await?;
        stage.clear().await?;
        load.fill(&stage.client).await?;
        let figure = processes(stage, count).await?;
        stage.clear().await?;
        stage.beside(format!("{count} {many}"), "jobs/s", figure, floor);
    }
    Ok(())
}

/// So many bare loops at once, each a node of its own; jobs a second.
async fn loops(stage: &Stage, count: u32) -> Result<f64, Refused> {
    let (store, jobs) = (stage.client.store(), stage.jobs);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let store = Arc::clone(store);
        nodes.push(stage.client.engine().run(async move { Bare::join(&store).await }).await?);
    }
    let over = Arc::new(AtomicU32::new(0));
    let from = Instant::now();
    let start = |mut node: Bare| {
        let over = Arc::clone(&over);
        stage.client.engine().spawn(async move {
            node.drain(&over, jobs).await?;
            Ok::<_, Refused>((node, Instant::now()))
        })
    };
    let running: Vec<_> = nodes.into_iter().map(start).collect();
    let (mut left, mut last) = (Vec::new(), from);
    for node in running {
        let (node, ended) = node.await.expect("it does not panic")?;
        last = last.max(ended);
        left.push(node);
    }
    stage
        .client
        .engine()
        .run(async move {
            for node in left {
                node.leave().await?;
            }
            Ok::<_, Refused>(())
        })
        .await?;
    Ok(f64::from(jobs) / (last - from).as_secs_f64())
}

/// So many processes: from the first job's start until the last is written as ended; jobs a second.
async fn processes(stage: &mut Stage, count: u32) -> Result<f64, Refused> {
    let mut children = Children::start(stage.options.child.as_ref(), count).await?;
    let mut ended = vec![0_u64; count as usize];
    let mut first: Option<Instant> = None;
    children.tell_go();
    let last = loop {
        let Line { child, at, said } = children.next().await?;
        let said = said.unwrap_or_default();
        if said == "first" {
            first = Some(first.map_or(at, |first| first.min(at)));
        }
        if let Some(count) = said.strip_prefix("ended ").and_then(|count| count.parse().ok()) {
            ended[child] = count;
        }
        if ended.iter().sum::<u64>() >= u64::from(stage.jobs) {
            break at;
        }
    };
    let seen = Seen::new(stage.jobs);
    children.stop(&seen).await?;
    stage.missed(seen.missed(stage.jobs));
    Ok(f64::from(stage.jobs) / (last - first.unwrap_or(last)).as_secs_f64())
}
