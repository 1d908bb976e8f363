//! `prune`: removes what is past its time, now and to the end.

use longshore::PruneOptions;

use super::Context;
use crate::args::PruneArgs;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{facts, json, roughly};

pub(super) async fn run(context: Context, args: PruneArgs) -> Result<Exit, Failure> {
    let options = PruneOptions { dry_run: args.dry_run, limit: args.limit };
    let client = open_existing(&context.settings).await?;
    let report = client.prune(options).await?;
    client.close().await;
    let removed = report.removed;
    if context.json {
        json(&serde_json::json!({
            "dry_run": args.dry_run,
            "removed": removed,
            "days": report.days,
            "more": report.more,
            "lag_ms": report.lag.as_millis() as u64,
            "took_ms": report.took.as_millis() as u64,
        }))?;
        return Ok(Exit::Ok);
    }
    facts(vec![
        (if args.dry_run { "would go" } else { "removed" }, removed.total().to_string()),
        ("  succeeded", removed.succeeded.to_string()),
        ("  cancelled", removed.cancelled.to_string()),
        ("  dead", removed.dead.to_string()),
        ("  whole days", report.days.to_string()),
        ("was behind", roughly(report.lag)),
        ("took", roughly(report.took)),
    ])?;
    if report.more {
        eprintln!("the limit is reached; more is past its time");
    }
    Ok(Exit::Ok)
}
