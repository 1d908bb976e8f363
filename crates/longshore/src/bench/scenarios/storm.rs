//! Many jobs that are due at one instant.

use std::time::{Duration, Instant};

use super::super::figure::ms;
use super::super::load::{self, Load};
use super::super::scenario::Stage;
use super::super::seen::{Seen, job};
use super::super::{PATIENCE, Refused, until_ready};

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, jobs) = (stage.client.clone(), stage.jobs);
    stage.say(format!("the floor: a bare loop on {jobs} jobs"));
    let load = Load::plain(jobs);
    let from = Instant::now();
    load.fill(&client).await?;
    let filled = from.elapsed();
    let floor = load::drain_bare(&client, jobs).await?;
    stage.clear().await?;

    let seen = Seen::new(jobs);
    let working = load.worker(&client, stage.options.slots, &seen)?;
    until_ready(&working).await;
    // Twice what the enqueue took before, so that it is over by then.
    let ahead = filled * 2 + Duration::from_secs(1);
    stage.say(format!("{jobs} jobs, all due in {:.1} s", ahead.as_secs_f64()));
    let (now, due) = (client.store().now().await?, Instant::now() + ahead);
    let instant = now.plus(ahead);
    load::add(&client, 0..jobs, move |n| job(n).run_at(instant)).await?;
    let late = Instant::now().saturating_duration_since(due);
    if !late.is_zero() {
        stage.say(format!("the enqueue ended {} ms after that", late.as_millis()));
    }
    tokio::time::sleep_until(due.into()).await;

    let (mut ended, mut last, mut longest) = (0, due, Duration::ZERO);
    while ended < u64::from(jobs) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now_ended = working.health().finished_total;
        if now_ended > ended {
            let now = Instant::now();
            longest = longest.max(now - last);
            (ended, last) = (now_ended, now);
        } else if last.elapsed() > PATIENCE {
            return Err(Refused::Stuck { left: u64::from(jobs) - ended });
        }
    }
    working.stop().await;
    stage.missed(seen.missed(jobs));

    let took_s = (last - due).as_secs_f64();
    let first =
        (seen.from + Duration::from_secs_f64(seen.mark_s(0))).saturating_duration_since(due);
    stage.beside("from the instant to the last end", "s", took_s, f64::from(jobs) / floor);
    stage.beside("drained from the instant on", "jobs/s", f64::from(jobs) / took_s, floor);
    stage.row("from the instant to the first start", "ms", Some(ms(first)), None);
    stage.row("longest time in which none ended", "ms", Some(ms(longest)), None);
    Ok(())
}
