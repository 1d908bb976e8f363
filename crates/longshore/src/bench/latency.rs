//! How soon an idle worker starts a job, and what it costs while there is none.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::figure::Spread;
use super::idle::{self, Idle};
use super::seen::{job, number_in};
use super::{KIND, Options, QUEUE, Refused, Report, until_ended, until_ready};
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
    until_ready(&working).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let mut returns = Vec::new();
    for n in 0..SAMPLES {
        client.enqueue(job(n)).await?;
        returns.push(Instant::now());
        tokio::time::sleep(APART).await;
    }
    until_ended(&working, SAMPLES, Duration::from_millis(5)).await?;
    let starts = starts.lock().expect("nothing here panics").clone();
    let waits = starts
        .iter()
        .zip(&returns)
        .filter_map(|(start, returned)| Some(signed_ms(*returned, (*start)?)));
    let waits = Spread::of(waits.collect());
    report.latency_ms_p50 = waits.at(0.50).unwrap_or(f64::NAN);
    report.latency_ms_p99 = waits.at(0.99).unwrap_or(f64::NAN);

    tokio::time::sleep(Duration::from_secs(2)).await;
    let Idle { statements_per_s, cpu_percent } = idle::watch(client, options.idle_for).await?;
    report.idle_queries_per_s = statements_per_s;
    report.idle_cpu_percent = cpu_percent;
    working.stop().await;
    Ok(())
}

/// From one instant to another; negative if the handler was faster than the enqueue's return.
pub(super) fn signed_ms(from: Instant, to: Instant) -> f64 {
    let forward = to.saturating_duration_since(from).as_secs_f64();
    (forward - from.saturating_duration_since(to).as_secs_f64()) * 1e3
}
