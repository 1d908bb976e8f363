//! How soon a job starts: on an idle worker, on a busy one, in another process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::bare::Bare;
use super::super::children::{Children, wall_us};
use super::super::figure::{Spread, ms};
use super::super::latency::signed_ms;
use super::super::load::{Load, add};
use super::super::scenario::Stage;
use super::super::seen::{Seen, job, number_in};
use super::super::{KIND, PATIENCE, PROBE, QUEUE, Refused, until_ended, until_ready, worker_named};
use crate::client::Client;
use crate::job::NewJob;
use crate::store::{Repeat, Result};
use crate::worker::Run;

/// Probes are so far apart, so that each finds what it would find alone.
const APART: Duration = Duration::from_millis(20);
/// Jobs of the load come in batches so far apart.
const TICK: Duration = Duration::from_millis(10);

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let probes = (stage.run_for.as_millis() / APART.as_millis()).max(1) as u32;
    stage.say(format!("the floor: {probes} claims, each behind an enqueue"));
    let floor = bare(stage, probes).await?;
    stage.clear().await?;
    stage.say(format!("{probes} jobs on an idle worker"));
    let idle = by_worker(stage, probes, 0.0).await?;
    stage.spread("idle", &idle, Some(&floor));
    stage.clear().await?;

    stage.say(format!("how fast {} jobs are drained", stage.jobs));
    let load = Load::plain(stage.jobs);
    load.fill(&stage.client).await?;
    let (drained, missed) = load.by_worker(&stage.client, stage.options.slots).await?;
    stage.missed(missed);
    stage.clear().await?;
    let half = drained / 2.0;
    stage.say(format!("{probes} jobs beside {half:.0} others a second"));
    let busy = by_worker(stage, probes, half).await?;
    stage.spread("beside half of what it drains", &busy, None);
    stage.row("the jobs beside it", "jobs/s", Some(half), None);
    stage.clear().await?;

    if stage.options.child.is_some() {
        stage.say(format!("{probes} jobs for another process"));
        let other = by_child(stage, probes).await?;
        stage.spread("idle, in another process", &other, Some(&floor));
    }
    Ok(())
}

fn probe(n: u32) -> NewJob {
    NewJob { kind: PROBE.to_owned(), ..job(n) }
}

/// From the enqueue's return to the answer of a claim that is begun then.
async fn bare(stage: &Stage, probes: u32) -> Result<Spread, Refused> {
    let store = Arc::clone(stage.client.store());
    let measured = stage.client.engine().run(async move {
        let mut bare = Bare::join(&store).await?;
        let mut waits = Vec::new();
        for n in 0..probes {
            store.enqueue(&[job(n)], Repeat::No).await?;
            let from = Instant::now();
            let taken = bare.take().await?;
            waits.push(ms(from.elapsed()));
            bare.end(&taken).await?;
            tokio::time::sleep(APART).await;
        }
        bare.leave().await?;
        Ok::<_, Refused>(Spread::of(waits))
    });
    measured.await
}

/// A worker of this process, beside so many other jobs a second.
async fn by_worker(stage: &mut Stage, probes: u32, per_s: f64) -> Result<Spread, Refused> {
    let client = stage.client.clone();
    let starts = Arc::new(Mutex::new(vec![None; probes as usize]));
    let (seen, kept) = (Seen::new(u32::MAX), Arc::clone(&starts));
    let others = Arc::clone(&seen);
    let working = worker_named(&client)
        .queue(QUEUE, stage.options.slots)
        .handle(PROBE, move |run: Run| {
            let now = Instant::now();
            if let Some(start) =
                kept.lock().expect("nothing here panics").get_mut(number_in(run.payload()))
            {
                *start = Some(now);
            }
            std::future::ready(())
        })
        .handle(KIND, move |run: Run| {
            others.ran(&run);
            std::future::ready(())
        })
        .start()?;
    until_ready(&working).await;
    // What a start costs is over by then.
    tokio::time::sleep(Duration::from_secs(1)).await;

    let load = tokio::spawn(enqueue_others(client.clone(), per_s, APART * probes));
    let mut returns = Vec::new();
    for n in 0..probes {
        client.enqueue(probe(n)).await?;
        returns.push(Instant::now());
        tokio::time::sleep(APART).await;
    }
    let others = load.await.expect("it does not panic")?;
    until_ended(&working, probes + others, Duration::from_millis(5)).await?;
    working.stop().await;
    stage.missed(seen.missed(others));
    let starts = starts.lock().expect("nothing here panics");
    let waits = starts
        .iter()
        .zip(&returns)
        .filter_map(|(start, returned)| Some(signed_ms(*returned, (*start)?)));
    let waits: Vec<f64> = waits.collect();
    stage.missed((u64::from(probes) - waits.len() as u64, 0));
    Ok(Spread::of(waits))
}

/// So many a second; how many it was.
async fn enqueue_others(client: Client, per_s: f64, for_: Duration) -> Result<u32> {
    let (from, mut added) = (Instant::now(), 0);
    while from.elapsed() < for_ && per_s > 0.0 {
        let due = (from.elapsed().as_secs_f64() * per_s) as u32;
        if due > added {
            add(&client, added..due, job).await?;
            added = due;
        }
        tokio::time::sleep(TICK).await;
    }
    Ok(added)
}

/// A worker of another process, by the clock that both share.
async fn by_child(stage: &mut Stage, probes: u32) -> Result<Spread, Refused> {
    let mut children = Children::start(stage.options.child.as_ref(), 1).await?;
    children.go().await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut returns = Vec::new();
    for n in 0..probes {
        stage.client.enqueue(probe(n)).await?;
        returns.push(wall_us());
        tokio::time::sleep(APART).await;
    }
    let (mut starts, mut heard, give_up) =
        (vec![None; probes as usize], 0, Instant::now() + PATIENCE);
    while heard < probes {
        if Instant::now() > give_up {
            return Err(Refused::Stuck { left: u64::from(probes - heard) });
        }
        let said = children.next().await?.said.unwrap_or_default();
        let Some((n, at_us)) = said.strip_prefix("probe ").and_then(|said| said.split_once(' '))
        else {
            continue;
        };
        if let (Ok(n), Ok(at_us)) = (n.parse::<usize>(), at_us.parse::<u64>()) {
            match starts.get_mut(n) {
                Some(start @ None) => (*start, heard) = (Some(at_us), heard + 1),
                _ => stage.missed((0, 1)),
            }
        }
    }
    // Until the last end is written: it is told before the child stops.
    children.stop(&Seen::new(1)).await?;
    let waits = starts.iter().zip(&returns);
    let waits =
        waits.filter_map(|(start, returned)| Some(((*start)? as f64 - *returned as f64) / 1e3));
    Ok(Spread::of(waits.collect()))
}
