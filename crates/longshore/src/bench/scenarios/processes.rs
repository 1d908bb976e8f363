//! Several processes on one database.

use std::time::Instant;

use super::super::Refused;
use super::super::children::{Children, GO, LOOP, Line};
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
        let floor = processes(stage, count, LOOP).await?;
        stage.clear().await?;
        load.fill(&stage.client).await?;
        let figure = processes(stage, count, GO).await?;
        stage.clear().await?;
        stage.beside(format!("{count} {many}"), "jobs/s", figure, floor);
    }
    Ok(())
}

/// So many processes that do what the word says, from the first job's start until the last is written as ended; jobs a
/// second.
async fn processes(stage: &mut Stage, count: u32, word: &str) -> Result<f64, Refused> {
    let mut children = Children::start(stage.options.child.as_ref(), count).await?;
    let mut ended = vec![0_u64; count as usize];
    let mut first: Option<Instant> = None;
    children.tell(word);
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
