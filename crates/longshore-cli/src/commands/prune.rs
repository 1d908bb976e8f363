//! `prune`: removes what is past its time, now and to the end.

use std::time::Duration;

use longshore_server::wire::PruneBody;

use super::Context;
use crate::args::PruneArgs;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{facts, json, roughly};

pub(super) async fn run(context: Context, args: PruneArgs) -> Result<Exit, Failure> {
    let PruneArgs { dry_run, limit } = args;
    let door = Door::existing(&context).await?;
    let done = door.prune(PruneBody { dry_run, limit }).await?;
    if let Door::Database(client) = door {
        client.close().await;
    }
    if context.json {
        json(&done)?;
        return Ok(Exit::Ok);
    }
    let removed = &done.removed;
    facts(vec![
        (if dry_run { "would go" } else { "removed" }, removed.total().to_string()),
        ("  succeeded", removed.succeeded.to_string()),
        ("  cancelled", removed.cancelled.to_string()),
        ("  dead", removed.dead.to_string()),
        ("  whole days", done.days.to_string()),
        ("was behind", roughly(Duration::from_millis(done.lag_ms))),
        ("took", roughly(Duration::from_millis(done.took_ms))),
    ])?;
    match (done.more, dry_run) {
        (true, true) => eprintln!("the server counts for 10 s at most; there may be more"),
        (true, false) => eprintln!("the limit is reached; more is past its time"),
        (false, _) => {}
    }
    Ok(Exit::Ok)
}
