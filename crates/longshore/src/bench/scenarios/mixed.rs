//! Jobs in and through at once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::bare::Bare;
use super::super::figure::Spread;
use super::super::scenario::Stage;
use super::super::seen::{Seen, job, stamp_in, stamped};
use super::super::{KIND, QUEUE, Refused, until_ended, until_ready, worker_named};
use crate::store::{Repeat, StoreError};
use crate::worker::Run;

const CALLERS: u32 = 16;

/// What both sides made, a second.
struct Speeds {
    enqueued: f64,
    drained: f64,
}

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    stage.say("the floor: bare callers beside a bare loop");
    let floor = bare(stage).await?;
    stage.clear().await?;

    stage.say(format!("{CALLERS} callers beside a worker, {:?}", stage.run_for));
    let seen = Seen::new(u32::MAX);
    let waits = Arc::new(Mutex::new(Vec::new()));
    let (noted, kept) = (Arc::clone(&seen), Arc::clone(&waits));
    let working = worker_named(&stage.client)
        .queue(QUEUE, stage.options.slots)
        .handle(KIND, move |run: Run| {
            noted.ran(&run);
            let asked_us = stamp_in(run.payload()).unwrap_or_default();
            let wait = noted.now_us().saturating_sub(asked_us) as f64 / 1e3;
            kept.lock().expect("nothing here panics").push(wait);
            std::future::ready(())
        })
        .start()?;
    until_ready(&working).await;

    let next = Arc::new(AtomicU32::new(0));
    let end = Instant::now() + stage.run_for;
    let caller = |_| {
        let (client, next, seen) = (stage.client.clone(), Arc::clone(&next), Arc::clone(&seen));
        tokio::spawn(async move {
            while Instant::now() < end {
                let n = next.fetch_add(1, Ordering::Relaxed);
                client.enqueue(stamped(n, seen.now_us())).await?;
            }
            Ok::<_, StoreError>(())
        })
    };
    let callers: Vec<_> = (0..CALLERS).map(caller).collect();
    for caller in callers {
        caller.await.expect("it does not panic")?;
    }
    let over = (end - stage.run_for).elapsed().as_secs_f64();
    let (enqueued, ended) = (next.load(Ordering::Relaxed), working.health().finished_total);
    until_ended(&working, enqueued, Duration::from_millis(5)).await?;
    working.stop().await;
    stage.missed(seen.missed(enqueued));

    stage.beside("enqueued", "jobs/s", f64::from(enqueued) / over, floor.enqueued);
    stage.beside("drained", "jobs/s", ended as f64 / over, floor.drained);
    let waits = Spread::of(std::mem::take(&mut *waits.lock().expect("nothing here panics")));
    stage.spread("enqueue called to start", &waits, None);
    let left = u64::from(enqueued).saturating_sub(ended);
    stage.row("left when the callers end", "jobs", Some(left as f64), None);
    Ok(())
}

/// Bare callers and one bare loop.
async fn bare(stage: &Stage) -> Result<Speeds, Refused> {
    let (store, span) = (Arc::clone(stage.client.store()), stage.run_for);
    let engine = stage.client.engine();
    let mut node = engine.run(async move { Bare::join(&store).await }).await?;
    let next = Arc::new(AtomicU32::new(0));
    let from = Instant::now();
    let end = from + span;
    let caller = |_| {
        let (store, next) = (Arc::clone(stage.client.store()), Arc::clone(&next));
        engine.spawn(async move {
            while Instant::now() < end {
                let n = next.fetch_add(1, Ordering::Relaxed);
                store.enqueue(&[job(n)], Repeat::No).await?;
            }
            Ok::<_, StoreError>(())
        })
    };
    let callers: Vec<_> = (0..CALLERS).map(caller).collect();
    let drain = engine.spawn(async move {
        let ended = node.drain_until(end).await?;
        node.leave().await?;
        Ok::<_, StoreError>(ended)
    });
    for caller in callers {
        caller.await.expect("it does not panic")?;
    }
    let ended = drain.await.expect("it does not panic")?;
    let over = from.elapsed().as_secs_f64();
    let enqueued = f64::from(next.load(Ordering::Relaxed)) / over;
    Ok(Speeds { enqueued, drained: f64::from(ended) / over })
}
