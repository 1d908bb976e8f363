//! What a long backlog costs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::load::{self, Load, Waiting};
use super::super::scenario::Stage;
use super::super::seen::{Seen, job};
use super::super::{Refused, until_ended};

/// How many wait, but for those above what was asked for.
const SIZES: [u32; 4] = [10_000, 100_000, 1_000_000, 5_000_000];

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, jobs) = (stage.client.clone(), stage.jobs);
    let mut waiting = Waiting::default();
    let seen = Seen::new(u32::MAX);
    for size in sizes(stage.options.most) {
        stage.say(format!("{jobs} jobs more, and drained, while {size} wait"));
        waiting.top_up(&client, size).await?;
        client.store().meter().settle().await?;

        let enqueue_floor = load::add_bare(&client, waiting.next..waiting.next + jobs).await?;
        waiting.next += jobs;
        let drain_floor = load::drain_bare(&client, jobs).await?;

        waiting.top_up(&client, size).await?;
        client.store().meter().settle().await?;
        let from = Instant::now();
        load::add(&client, waiting.next..waiting.next + jobs, job).await?;
        let enqueued = f64::from(jobs) / from.elapsed().as_secs_f64();
        waiting.next += jobs;
        let drained = first_jobs(stage, &seen, jobs).await?;
        stage.beside(
            format!("enqueue by the list, {size} waiting"),
            "jobs/s",
            enqueued,
            enqueue_floor,
        );
        stage.beside(format!("drain, {size} waiting"), "jobs/s", drained, drain_floor);
    }
    stage.missed(waiting.check(&client).await?);
    // What still waits never ran; what ran twice is the worker's doing.
    stage.missed((0, seen.missed(waiting.next).1));
    Ok(())
}

fn sizes(most: u32) -> Vec<u32> {
    let mut sizes: Vec<u32> = SIZES.into_iter().filter(|size| *size < most).collect();
    sizes.push(most);
    sizes
}

/// A worker until so many ended, and then no longer; jobs a second.
async fn first_jobs(stage: &Stage, seen: &Arc<Seen>, jobs: u32) -> Result<f64, Refused> {
    let timed = Seen::new(jobs);
    let (all, first) = (Arc::clone(seen), Arc::clone(&timed));
    let working =
        Load::plain(jobs).worker_that(&stage.client, stage.options.slots, move |run| {
            all.ran(run);
            first.ran(run);
        })?;
    until_ended(&working, jobs, Duration::from_millis(1)).await?;
    // It may be some more, since they end in batches.
    let ended = working.health().finished_total;
    let took_s = timed.now_us() as f64 / 1e6 - timed.mark_s(0);
    working.stop().await;
    Ok(ended as f64 / took_s)
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn the_greatest_backlog_is_what_was_asked_for() {
        assert_eq!(sizes(1_000_000), [10_000, 100_000, 1_000_000]);
        assert_eq!(sizes(500), [500]);
        assert_eq!(sizes(20_000_000), [10_000, 100_000, 1_000_000, 5_000_000, 20_000_000]);
    }
}
