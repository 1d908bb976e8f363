//! How soon an idle worker starts a job, and what it costs while there is none.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{KIND, Options, QUEUE, Refused, Report, job, number_in, until_ended};
use crate::client::Client;
use crate::worker::{Run, Worker};

const SAMPLES: u32 = 200;
const APART: Duration = Duration::from_millis(20);

pub(super) async fn measure(
    client: &Client,
    options: &Options,
    report: &mut Report,
) -> Result<(), Refused> {
    let starts: Arc<Mutex<Vec<Option<Instant>>>> =
        Arc::new(Mutex::new(vec![None; SAMPLES as usize]));
    let seen = Arc::clone(&starts);
    let working = Worker::new(client.clone())
        .queue(QUEUE, 10)
        .handle(KIND, move |run: Run| {
            let now = Instant::now();
            let mut starts = seen.lock().expect("nothing here panics");
            if let Some(start) = starts.get_mut(number_in(run.payload())) {
                *start = Some(now);
            }
            std::future::ready(())
        })
        .start()?;
    while !working.health().ready {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    let mut returns = Vec::new();
    for n in 0..SAMPLES {
        client.enqueue(job(n)).await?;
        returns.push(Instant::now());
        tokio::time::sleep(APART).await;
    }
    until_ended(&working, SAMPLES, Duration::from_millis(5)).await?;
    let starts = starts.lock().expect("nothing here panics").clone();
    let mut waits: Vec<f64> = starts
        .iter()
        .zip(&returns)
        .filter_map(|(start, returned)| Some(signed_ms(*returned, (*start)?)))
        .collect();
    waits.sort_by(f64::total_cmp);
    report.latency_ms_p50 = at(&waits, 0.50);
    report.latency_ms_p99 = at(&waits, 0.99);

    let meter = || client.store().meter();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, cpu_before, from) = (meter().counts().await?, cpu_s(), Instant::now());
    tokio::time::sleep(options.idle_for).await;
    let after = meter().counts().await?;
    // Counting takes a while itself.
    let (cpu_after, watched_s) = (cpu_s(), from.elapsed().as_secs_f64());
    report.idle_queries_per_s =
        before.statements.zip(after.statements).map(|(from, to)| (to - from) as f64 / watched_s);
    report.idle_cpu_percent =
        cpu_before.zip(cpu_after).map(|(from, to)| 100.0 * (to - from) / watched_s);
    working.stop().await;
    Ok(())
}

/// From one instant to another; negative if the handler was faster than the enqueue's return.
fn signed_ms(from: Instant, to: Instant) -> f64 {
    let forward = to.saturating_duration_since(from).as_secs_f64();
    (forward - from.saturating_duration_since(to).as_secs_f64()) * 1e3
}

fn at(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Processor time of this process so far, where the system tells (Linux; 100 ticks a second).
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}
