//! The table of scenarios, and what all of them share.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;

use super::figure::{Figure, Spread};
use super::{Program, Refused, scenarios as s};
use crate::client::Client;

/// One scenario: what it measures, and its defaults. `None`: it has no use for that option.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub measures: &'static str,
    /// What its floor is.
    pub floor: &'static str,
    /// How many jobs, unless somebody says so.
    pub jobs: Option<u32>,
    /// How long its steady part lasts, unless somebody says so.
    pub run_for: Option<Duration>,
    /// Whether it takes so long that it only runs when it is named.
    pub long: bool,
    run: Go,
}

type Go = for<'a> fn(&'a mut Stage) -> Going<'a>;
type Going<'a> = Pin<Box<dyn Future<Output = Result<(), Refused>> + 'a>>;

const fn seconds(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

/// All of them, in the order in which they are shown.
#[rustfmt::skip]
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "enqueue",
        measures: "one job a call from 1, 16 and 64 callers, by the list, and in the transactions of 16 callers",
        floor: "as many callers, each job a statement and a commit of its own; batches of 500, and plain COPY; begin, the store's statement, commit",
        jobs: Some(20_000), run_for: None, long: false,
        run: |stage| Box::pin(s::enqueue::run(stage)),
    },
    Scenario {
        name: "drain",
        measures: "a worker on jobs that wait: plain ones, payloads of 10 KB, 50 queues, ten priorities, 5 % that fail once, unique jobs, jobs that keep nothing",
        floor: "claims and finishes of the same jobs, 500 at a time, one after the other",
        jobs: Some(50_000), run_for: None, long: false,
        run: |stage| Box::pin(s::drain::run(stage)),
    },
    Scenario {
        name: "processes",
        measures: "1, 2 and 4 processes that drain one database together",
        floor: "as many processes, each a node with a bare loop",
        jobs: Some(100_000), run_for: None, long: false,
        run: |stage| Box::pin(s::processes::run(stage)),
    },
    Scenario {
        name: "mixed",
        measures: "16 callers that enqueue one job a call while a worker drains: both speeds, the time from the call to the start, what is left at the end",
        floor: "16 bare callers and one bare loop that drains, at once",
        jobs: None, run_for: seconds(60), long: false,
        run: |stage| Box::pin(s::mixed::run(stage)),
    },
    Scenario {
        name: "pickup",
        measures: "from the enqueue's return to the handler's start: idle, at half of the speed of a drain, and in another process",
        floor: "one claim, begun when the enqueue has returned",
        jobs: Some(20_000), run_for: seconds(5), long: false,
        run: |stage| Box::pin(s::pickup::run(stage)),
    },
    Scenario {
        name: "storm",
        measures: "jobs that are all due at one instant, on an idle worker: from then to the last end, and the longest time in which none ended",
        floor: "a bare loop on as many jobs that are due",
        jobs: Some(100_000), run_for: None, long: false,
        run: |stage| Box::pin(s::storm::run(stage)),
    },
    Scenario {
        name: "backlog",
        measures: "enqueue by the list and drain while 10,000, 100,000 and 1,000,000 jobs wait, or as many as --most says",
        floor: "batches of 500, and a bare loop, at the same backlog",
        jobs: Some(20_000), run_for: None, long: true,
        run: |stage| Box::pin(s::backlog::run(stage)),
    },
    Scenario {
        name: "pinned",
        measures: "full load beside a snapshot that was opened before it, in tenths of the time",
        floor: "the same worker without the snapshot",
        jobs: None, run_for: seconds(60), long: true,
        run: |stage| Box::pin(s::pinned::run(stage)),
    },
    Scenario {
        name: "start",
        measures: "from the start of a worker to its first job while many wait",
        floor: "a bare join and a first claim",
        jobs: Some(1_000_000), run_for: None, long: true,
        run: |stage| Box::pin(s::start::run(stage)),
    },
    Scenario {
        name: "idle",
        measures: "statements, processor and memory of a worker with nothing to do",
        floor: "none",
        jobs: None, run_for: seconds(10), long: false,
        run: |stage| Box::pin(s::idle::run(stage)),
    },
    Scenario {
        name: "wal",
        measures: "bytes of write-ahead log and commits a job: enqueued one by one from 16 callers, by the list, drained; dead row versions after a steady load. PostgreSQL only",
        floor: "the bare loops of `enqueue` and `drain`; none of dead rows",
        jobs: Some(20_000), run_for: seconds(60), long: false,
        run: |stage| Box::pin(s::wal::run(stage)),
    },
];

/// How scenarios are run.
#[derive(Clone, Debug)]
pub struct ScenarioOptions {
    /// How many jobs, in place of the scenario's own number.
    pub jobs: Option<u32>,
    /// How long the steady parts last, in place of the scenario's own span.
    pub run_for: Option<Duration>,
    /// Slots of each worker. Default 100.
    pub slots: u32,
    /// The most processes of `processes`, which begins with one and doubles. Default 4.
    pub processes: u32,
    /// The greatest backlog of `backlog`. Default 1,000,000.
    pub most: u32,
    /// What starts another process; `None` where none can open the database.
    pub child: Option<Program>,
}

impl Default for ScenarioOptions {
    fn default() -> Self {
        ScenarioOptions {
            jobs: None,
            run_for: None,
            slots: 100,
            processes: 4,
            most: 1_000_000,
            child: None,
        }
    }
}

/// What a scenario measured.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    /// Its name.
    pub scenario: &'static str,
    /// `sqlite` or `postgres`.
    pub backend: String,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// Jobs that never ran, or are not there.
    pub lost: u64,
    /// Jobs that ran twice, or are there twice.
    pub duplicates: u64,
}

/// Where a scenario works, and what it has to say so far.
pub(super) struct Stage {
    pub client: Client,
    pub jobs: u32,
    pub run_for: Duration,
    pub options: ScenarioOptions,
    say: Box<dyn Fn(&str)>,
    figures: Vec<Figure>,
    lost: u64,
    duplicates: u64,
}

impl Stage {
    /// Tells whoever waits what it is doing.
    pub fn say(&self, doing: impl AsRef<str>) {
        (self.say)(doing.as_ref());
    }

    /// A figure that has a floor.
    pub fn beside(&mut self, what: impl Into<String>, unit: &'static str, figure: f64, floor: f64) {
        self.row(what, unit, Some(figure), Some(floor));
    }

    pub fn row(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        figure: Option<f64>,
        floor: Option<f64>,
    ) {
        self.figures.push(Figure { what: what.into(), figure, unit, floor });
    }

    /// The rows of a spread of milliseconds.
    pub fn spread(&mut self, what: &str, waits: &Spread, floor: Option<&Spread>) {
        for (row, (part, wait)) in waits.rows().into_iter().enumerate() {
            let floor = floor.and_then(|floor| floor.rows()[row].1);
            self.row(format!("{what}, {part}"), "ms", wait, floor);
        }
    }

    /// How many were lost, and how many came twice.
    pub fn missed(&mut self, (lost, duplicates): (u64, u64)) {
        self.lost += lost;
        self.duplicates += duplicates;
    }

    /// Deletes the benchmark's jobs, and settles.
    pub async fn clear(&self) -> Result<(), Refused> {
        Ok(self.client.store().meter().clear().await?)
    }
}

/// Runs a scenario; says on the way what it is doing. Refuses beside jobs of somebody else, and deletes its
/// own, also when it fails.
pub async fn scenario(
    client: &Client,
    scenario: &Scenario,
    options: &ScenarioOptions,
    say: impl Fn(&str) + 'static,
) -> Result<ScenarioReport, Refused> {
    let foreign = client.store().meter().foreign_jobs().await?;
    if foreign > 0 {
        return Err(Refused::ForeignJobs(foreign));
    }
    let mut stage = Stage {
        client: client.clone(),
        jobs: options.jobs.or(scenario.jobs).unwrap_or_default(),
        run_for: options.run_for.or(scenario.run_for).unwrap_or_default(),
        options: options.clone(),
        say: Box::new(say),
        figures: Vec::new(),
        lost: 0,
        duplicates: 0,
    };
    stage.clear().await?;
    let ran = (scenario.run)(&mut stage).await;
    let cleared = stage.clear().await;
    ran.and(cleared)?;
    Ok(ScenarioReport {
        scenario: scenario.name,
        backend: client.store().backend().to_owned(),
        figures: stage.figures,
        lost: stage.lost,
        duplicates: stage.duplicates,
    })
}
