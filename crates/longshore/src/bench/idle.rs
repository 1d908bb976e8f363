//! What a worker costs that has nothing to do.

use std::time::{Duration, Instant};

use super::Refused;
use crate::client::Client;

/// What it costs; `None` where nobody can say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// Without BEGIN and COMMIT.
    pub statements_per_s: Option<f64>,
    /// Of one core.
    pub cpu_percent: Option<f64>,
}

/// Watches this process and its database for a while.
pub(super) async fn watch(client: &Client, for_: Duration) -> Result<Idle, Refused> {
    let meter = || client.store().meter();
    let (before, cpu_before, from) = (meter().counts().await?, cpu_s(), Instant::now());
    tokio::time::sleep(for_).await;
    let after = meter().counts().await?;
    // Counting takes a while itself.
    let (cpu_after, watched_s) = (cpu_s(), from.elapsed().as_secs_f64());
    let a_second = |(from, to): (i64, i64)| (to - from) as f64 / watched_s;
    let percent = |(from, to): (f64, f64)| 100.0 * (to - from) / watched_s;
    Ok(Idle {
        statements_per_s: before.statements.zip(after.statements).map(a_second),
        cpu_percent: cpu_before.zip(cpu_after).map(percent),
    })
}

/// Processor time of this process so far, where the system tells (Linux; 100 ticks a second).
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

/// Memory of this process that is in RAM, where the system tells (Linux), in megabytes.
pub(super) fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
