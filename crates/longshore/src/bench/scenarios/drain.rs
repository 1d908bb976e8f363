//! Jobs through: a worker on jobs that wait, of several sorts.

use std::time::Duration;

use super::super::Refused;
use super::super::load::Load;
use super::super::scenario::Stage;
use super::super::seen::job;
use crate::job::{Backoff, NewJob, Unique};

pub(in super::super) async fn run(stage: &mut Stage) -> Result<(), Refused> {
    let plain = Load::plain(stage.jobs);
    let sorts = [
        ("one process", plain.clone()),
        ("payload of 10 KB", Load { make: large, ..plain.clone() }),
        ("50 queues", Load { queues: 50, ..plain.clone() }),
        ("ten priorities", Load { make: |n| job(n).priority((n % 10) as u8), ..plain.clone() }),
        ("5 % fail once", Load { make: repeated_at_once, fails: every_20th_once, ..plain.clone() }),
        ("unique jobs", Load { make: unique, ..plain.clone() }),
        ("retain none", Load { make: |n| job(n).retain(Duration::ZERO), ..plain }),
    ];
    for (what, load) in sorts {
        stage.say(format!("drain of {} jobs: {what}", load.jobs));
        load.fill(&stage.client).await?;
        let floor = load.bare(&stage.client).await?;
        stage.clear().await?;
        load.fill(&stage.client).await?;
        let (figure, missed) = load.by_worker(&stage.client, stage.options.slots).await?;
        stage.missed(missed);
        stage.clear().await?;
        stage.beside(what, "jobs/s", figure, floor);
    }
    Ok(())
}

fn large(n: u32) -> NewJob {
    job(n).payload(format!("{{\"n\":\"{n:08}\",\"text\":\"{:x<10000}\"}}", ""))
}

fn unique(n: u32) -> NewJob {
    job(n).unique(Unique::key(format!("bench {n}")))
}

/// The shortest wait there is.
fn repeated_at_once(n: u32) -> NewJob {
    job(n).backoff(Backoff::fixed(Duration::from_millis(1)))
}

fn every_20th_once(n: usize, attempt: u32) -> bool {
    n.is_multiple_of(20) && attempt == 1
}
