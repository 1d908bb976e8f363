//! A worker that never runs dry: jobs are added as fast as it drains them.

use std::time::{Duration, Instant};

use super::load::{Load, add};
use super::seen::{Seen, job};
use super::{Refused, until_ended, until_ready};
use crate::client::Client;

/// So many wait at least: some claims ahead, and no backlog to speak of.
const AHEAD: u32 = 5_000;
/// Jobs that are added in one call.
const A_PART: u32 = 2_000;

/// How it went.
pub(super) struct Steady {
    /// Jobs a second in each part of the time.
    pub parts: Vec<f64>,
    pub missed: (u64, u64),
}

/// Runs it for a while, which is split into so many parts.
pub(super) async fn run(
    client: &Client,
    slots: u32,
    run_for: Duration,
    parts: u32,
) -> Result<Steady, Refused> {
    let seen = Seen::new(u32::MAX);
    add(client, 0..AHEAD, job).await?;
    let mut added = AHEAD;
    let working = Load::plain(0).worker(client, slots, &seen)?;
    until_ready(&working).await;

    let (from, each) = (Instant::now(), run_for / parts);
    let mut speeds = Vec::new();
    let (mut before, mut since) = (working.health().finished_total, from);
    while speeds.len() < parts as usize {
        let ended = working.health().finished_total;
        if from.elapsed() >= each * (speeds.len() as u32 + 1) {
            speeds.push((ended - before) as f64 / since.elapsed().as_secs_f64());
            (before, since) = (ended, Instant::now());
        }
        if u64::from(added) < ended + u64::from(AHEAD) {
            add(client, added..added + A_PART, job).await?;
            added += A_PART;
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    until_ended(&working, added, Duration::from_millis(5)).await?;
    working.stop().await;
    Ok(Steady { parts: speeds, missed: seen.missed(added) })
}
