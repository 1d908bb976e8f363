//! `bench`: measures a database with our worker, and the floor beneath it.

mod scenarios;

use std::time::Duration;

use longshore::Client;
use longshore::bench::{self, Options, Refused, Report, RetentionOptions, Size, Waits};
use serde::Serialize;
use serde_json::Value;

use super::Context;
use crate::args::BenchArgs;
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, table};

/// Jobs of the report without scenarios.
const JOBS: u32 = 50_000;
const DECIMALS: i32 = 3;
/// How long pruning is watched.
const RETENTION_FOR: Duration = Duration::from_secs(600);

/// One line of JSON, to stand beside those of other queues.
#[derive(Serialize)]
struct Line<'a> {
    peer: String,
    version: &'static str,
    #[serde(flatten)]
    report: &'a Report,
    yardstick_tps: Option<f64>,
}

/// Exit 1 when a job was lost or ran twice.
pub(super) async fn run(context: Context, args: BenchArgs) -> Result<Exit, Failure> {
    if args.run_for.is_some() && args.retention.is_none() && args.scenarios.is_empty() {
        return Err(Failure::usage(
            "--for says how long --retention or a scenario goes on; name one",
        ));
    }
    let client = open_now(&context.settings).await?;
    if args.child {
        return scenarios::child(&client, args.slots).await;
    }
    if client.schema_version().await? == 0 {
        client.migrate().await?;
    }
    if let Some(keep) = args.retention {
        return retention(&context, &client, keep.0, &args).await;
    }
    if !args.scenarios.is_empty() {
        return scenarios::run(&context, &client, &args).await;
    }
    let options = Options {
        jobs: args.jobs.unwrap_or(JOBS),
        slots: args.slots,
        pin_snapshot: args.pin_snapshot,
        ..Options::default()
    };
    let report = bench::run(&client, &options, |doing| eprintln!("bench: {doing}")).await?;
    client.close().await;
    if context.json {
        let peer = format!("longshore-{}", report.backend);
        let (version, yardstick_tps) = (context.app.version, args.yardstick);
        let line = Line { peer, version, report: &report, yardstick_tps };
        let value = serde_json::to_value(line).map_err(|e| Failure::failed(e.to_string()))?;
        data(&rounded(value, DECIMALS).to_string())?;
    } else {
        table(["", "FIGURE", "FLOOR", "RATIO"], rows(&report, args.yardstick))?;
    }
    Ok(if report.lost + report.duplicates == 0 { Exit::Ok } else { Exit::Failed })
}

/// Prints the table's size on the way, and the rest at the end.
async fn retention(
    context: &Context,
    client: &Client,
    keep: Duration,
    args: &BenchArgs,
) -> Result<Exit, Failure> {
    let run_for = args.run_for.map_or(RETENTION_FOR, |span| span.0);
    let options = RetentionOptions {
        keep,
        run_for,
        without_for: run_for / 5,
        per_s: args.rate,
        look_every: (run_for / 30).max(Duration::from_secs(1)),
    };
    let report = bench::retention(client, &options, |size| {
        let Size { at_s, rows, bytes, lag_ms } = size;
        let mib = *bytes as f64 / f64::from(1 << 20);
        eprintln!("bench: {at_s:5.0} s  {rows:8} rows  {mib:8.1} MiB  {lag_ms:6} ms behind");
    });
    let report = report.await?;
    client.close().await;
    if context.json {
        let value = serde_json::to_value(&report).map_err(|e| Failure::failed(e.to_string()))?;
        data(&rounded(value, DECIMALS).to_string())?;
    } else {
        let row = |what: &str, waits: &Waits| {
            let ms = |figure: f64| format!("{figure:.2}");
            [
                what.to_owned(),
                ms(waits.p50_ms),
                ms(waits.p99_ms),
                ms(waits.p999_ms),
                ms(waits.max_ms),
            ]
        };
        let rows = vec![row("without", &report.without), row("with", &report.with)];
        table(["PRUNE", "FINISH P50, MS", "P99", "P99.9", "LONGEST"], rows)?;
    }
    Ok(Exit::Ok)
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Store(error) => error.into(),
            Refused::ForeignJobs(_) => Failure::new(Exit::Conflict, refused.to_string()),
            Refused::Stuck { .. } | Refused::Process(_) => Failure::failed(refused.to_string()),
        }
    }
}

/// The same with so many decimals at most.
fn rounded(value: Value, decimals: i32) -> Value {
    let whole = 10_f64.powi(decimals);
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|exact| (exact * whole).round() / whole).into()
        }
        Value::Array(values) => values.into_iter().map(|one| rounded(one, decimals)).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, rounded(value, decimals))).collect()
        }
        other => other,
    }
}

fn rows(report: &Report, yardstick: Option<f64>) -> Vec<[String; 4]> {
    let whole = |figure: f64| format!("{figure:.0}");
    let fine = |figure: f64| format!("{figure:.2}");
    let known =
        |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.1}"));
    let one = |what: &str, figure: String| [what.to_owned(), figure, String::new(), String::new()];
    let beside = |what: &str, figure: f64, floor: f64| {
        [what.to_owned(), whole(figure), whole(floor), fine(figure / floor)]
    };
    let mut rows = vec![
        one("enqueued one by one, jobs/s", whole(report.insert_one_per_s)),
        beside(
            "enqueued by the list, jobs/s",
            report.insert_bulk_per_s,
            report.enqueue_bulk_floor_per_s,
        ),
        beside("drained, jobs/s", report.drain_per_s, report.drain_floor_per_s),
    ];
    for (quarter, seconds) in report.drain_quarters_s.iter().enumerate() {
        rows.push(one(&format!("  quarter {} of the drain, s", quarter + 1), fine(*seconds)));
    }
    rows.extend([
        one("enqueue to start when idle, p50, ms", fine(report.latency_ms_p50)),
        one("enqueue to start when idle, p99, ms", fine(report.latency_ms_p99)),
        one("WAL a job, enqueue to end, bytes", known(report.total_wal_bytes_per_job)),
        one("  of it the drain's, bytes", known(report.drain_wal_bytes_per_job)),
        one("commits a job", report.commits_per_job.map_or("-".to_owned(), |n| format!("{n:.4}"))),
        one("idle, statements/s", known(report.idle_queries_per_s)),
        one("idle, % of a core", known(report.idle_cpu_percent)),
        one("jobs that never ran", report.lost.to_string()),
        one("jobs that ran twice", report.duplicates.to_string()),
    ]);
    rows.extend(yardstick.map(|tps| one("yardstick, transactions/s", whole(tps))));
    rows
}
