//! `doctor`: checks the database and what it needs.

use longshore::store::{Check, Depth, StoreError, Verdict, without_secret};
use longshore::{Client, StoreOptions};

use super::Context;
use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure, with_causes};
use crate::print::{json, table};

/// Exit 1 if a check failed; a warning is none.
pub(super) async fn run(context: Context, args: DoctorArgs) -> Result<Exit, Failure> {
    let depth = if args.quick { Depth::Quick } else { Depth::Full };
    let checks = checks(&context, depth).await?;
    let failed = checks.iter().any(|check| check.verdict == Verdict::Fail);
    if context.json {
        json(&serde_json::json!({ "ok": !failed, "checks": checks }))?;
    } else {
        table(["CHECK", "RESULT", "FOUND", "ADVICE"], checks.iter().map(row).collect())?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

/// What keeps a database from being opened or looked at is a check that failed; only an address that
/// cannot be one is the command's own fault.
async fn checks(context: &Context, depth: Depth) -> Result<Vec<Check>, Failure> {
    let url = &context.settings.database;
    let mut checks = vec![Check::ok("database", without_secret(url))];
    let looked = match open(context).await {
        Ok(client) => {
            let looked = client.doctor(depth).await;
            client.close().await;
            looked
        }
        Err(error @ StoreError::Config(_)) => return Err(error.into()),
        Err(error) => Err(error),
    };
    match looked {
        Ok(more) => checks.extend(more),
        Err(error) => {
            let advice = "this comes first: nothing else could be looked at";
            checks[0] = Check::fail(
                "database",
                format!("{}: {}", without_secret(url), with_causes(&error)),
                advice,
            );
        }
    }
    Ok(checks)
}

/// Also where every other command is refused: that is what it is asked about.
async fn open(context: &Context) -> Result<Client, StoreError> {
    let options = StoreOptions {
        create: false,
        allow_shared_mount: true,
        allow_other_host: true,
        ..context.settings.store.options()
    };
    Client::open_with(&context.settings.database, options, context.settings.limits()).await
}

fn row(check: &Check) -> [String; 4] {
    let result = match check.verdict {
        Verdict::Ok => "ok",
        Verdict::Warn => "WARN",
        Verdict::Fail => "FAIL",
    };
    let advice = check.advice.clone().unwrap_or_default();
    [check.name.to_owned(), result.to_owned(), check.detail.clone(), advice]
}
