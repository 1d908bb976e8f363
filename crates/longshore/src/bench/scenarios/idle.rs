//! A worker with nothing to do.

use std::time::Duration;

use super::super::idle::{self, Idle};
use super::super::load::Load;
use super::super::scenario::Stage;
use super::super::seen::Seen;
use super::super::{Refused, until_ready};

/// What a start costs is over by then.
const SETTLES: Duration = Duration::from_secs(2);

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    stage.say(format!("a worker with nothing to do, {:?}", stage.run_for));
    let seen = Seen::new(1);
    let working = Load::plain(0).worker(&stage.client, stage.options.slots, &seen)?;
    until_ready(&working).await;
    tokio::time::sleep(SETTLES).await;
    let Idle { statements_per_s, cpu_percent } = idle::watch(&stage.client, stage.run_for).await?;
    let resident_mb = idle::resident_mb();
    working.stop().await;
    stage.row("statements without BEGIN and COMMIT", "a second", statements_per_s, None);
    stage.row("processor", "% of a core", cpu_percent, None);
    stage.row("resident memory, the benchmark's own included", "MB", resident_mb, None);
    Ok(())
}
