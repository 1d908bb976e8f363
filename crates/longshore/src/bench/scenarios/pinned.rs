//! Full load beside an old snapshot, as a long report or a backup holds one.

use super::super::scenario::Stage;
use super::super::{Refused, steady};

const TENTHS: u32 = 10;

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let (client, slots, run_for) = (stage.client.clone(), stage.options.slots, stage.run_for);
    stage.say(format!("full load without a snapshot, {run_for:?}"));
    let without = steady::run(&client, slots, run_for, TENTHS).await?;
    stage.clear().await?;

    stage.say(format!("full load beside a snapshot, {run_for:?}"));
    let pinned = client.store().meter().pin().await?;
    let beside = steady::run(&client, slots, run_for, TENTHS).await?;
    let side_file = client.store().side_file_bytes();
    drop(pinned);
    stage.missed(without.missed);
    stage.missed(beside.missed);
    for (n, (pinned, without)) in beside.parts.iter().zip(&without.parts).enumerate() {
        stage.beside(format!("snapshot pinned, tenth {}", n + 1), "jobs/s", *pinned, *without);
    }
    let side_file_mb = side_file.map(|bytes| bytes as f64 / 1e6);
    stage.row("SQLite's side file at the end", "MB", side_file_mb, None);
    Ok(())
}
