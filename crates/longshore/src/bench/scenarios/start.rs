//! How soon a worker that starts has its first job while many wait.

use std::sync::Arc;
use std::time::Instant;

use super::super::bare::Bare;
use super::super::figure::{Spread, ms};
use super::super::load::{Load, Waiting};
use super::super::scenario::Stage;
use super::super::seen::Seen;
use super::super::{PATIENCE, Refused};

const ROUNDS: u32 = 3;

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, jobs) = (stage.client.clone(), stage.jobs);
    stage.say(format!("{jobs} jobs that wait"));
    let mut waiting = Waiting::default();
    waiting.top_up(&client, jobs).await?;
    client.store().meter().settle().await?;
    stage.say(format!("{ROUNDS} starts of a bare loop, and of a worker"));
    let (mut floors, mut figures) = (Vec::new(), Vec::new());
    let mut twice = 0;
    for _ in 0..ROUNDS {
        floors.push(bare(stage).await?);
        waiting.top_up(&client, jobs).await?;
        let seen = Seen::new(u32::MAX);
        figures.push(worker(stage, &seen).await?);
        twice += seen.missed(waiting.next).1;
        waiting.top_up(&client, jobs).await?;
    }
    stage.missed((0, twice));
    stage.missed(waiting.check(&client).await?);
    let (figures, floors) = (Spread::of(figures), Spread::of(floors));
    stage.row("start to first job, p50", "ms", figures.at(0.5), floors.at(0.5));
    stage.row("start to first job, longest", "ms", figures.at(1.0), floors.at(1.0));
    Ok(())
}

/// A join and a claim.
async fn bare(stage: &Stage) -> Result<f64, Refused> {
    let store = Arc::clone(stage.client.store());
    let measured = stage.client.engine().run(async move {
        let from = Instant::now();
        let mut bare = Bare::join(&store).await?;
        let taken = bare.take().await?;
        let took = ms(from.elapsed());
        bare.end(&taken).await?;
        bare.leave().await?;
        Ok::<_, Refused>(took)
    });
    measured.await
}

async fn worker(stage: &Stage, seen: &Arc<Seen>) -> Result<f64, Refused> {
    let begun_us = seen.now_us();
    let working = Load::plain(0).worker(&stage.client, stage.options.slots, seen)?;
    while !seen.any() {
        if seen.from.elapsed() > PATIENCE {
            return Err(Refused::Stuck { left: u64::from(stage.jobs) });
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let took_ms = (seen.mark_s(0) * 1e6 - begun_us as f64) / 1e3;
    working.stop().await;
    Ok(took_ms)
}
