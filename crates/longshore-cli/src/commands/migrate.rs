//! `migrate`: the database's schema.

use longshore::StoreError;
use serde::Serialize;

use super::Context;
use crate::args::MigrateCommand;
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, json, table};

#[derive(Serialize)]
struct Status {
    version: u32,
    needed: u32,
    migrations: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    version: u32,
    name: &'static str,
    applied: bool,
}

pub(super) async fn run(context: Context, command: MigrateCommand) -> Result<Exit, Failure> {
    match command {
        MigrateCommand::Up => up(&context).await,
        MigrateCommand::Status => status(&context).await,
        MigrateCommand::Sql => sql(&context),
    }
}

async fn up(context: &Context) -> Result<Exit, Failure> {
    let client = open_now(&context.settings).await?;
    let applied = client.migrate().await?;
    if context.json {
        json(&serde_json::json!({ "applied": applied }))?;
    } else if applied.is_empty() {
        data("the schema is up to date")?;
    } else {
        for version in applied {
            data(&format!("applied migration {version}"))?;
        }
    }
    Ok(Exit::Ok)
}

/// Exit 4 while something is missing, so that a deployment can wait for it.
async fn status(context: &Context) -> Result<Exit, Failure> {
    let client = open_now(&context.settings).await?;
    let version = client.schema_version().await?;
    let known = longshore::store::migrations(&context.settings.database)?;
    let steps = known.iter().map(|one| Step {
        version: one.version,
        name: one.name,
        applied: one.version <= version,
    });
    let status = Status { version, needed: needed(context)?, migrations: steps.collect() };
    if context.json {
        json(&status)?;
    } else {
        let row = |step: &Step| {
            let applied = if step.applied { "applied" } else { "missing" };
            [step.version.to_string(), step.name.to_owned(), applied.to_owned()]
        };
        table(["VERSION", "NAME", "STATUS"], status.migrations.iter().map(row).collect())?;
    }
    check(context, version)?;
    Ok(Exit::Ok)
}

/// The version that this program needs.
fn needed(context: &Context) -> Result<u32, StoreError> {
    let known = longshore::store::migrations(&context.settings.database)?;
    Ok(known.last().map_or(0, |last| last.version))
}

/// Refuses a schema that is not the one this program needs.
pub(super) fn check(context: &Context, found: u32) -> Result<(), StoreError> {
    match needed(context)? {
        needed if needed == found => Ok(()),
        needed => Err(StoreError::Schema { found, needed }),
    }
}

fn sql(context: &Context) -> Result<Exit, Failure> {
    for one in longshore::store::migrations(&context.settings.database)? {
        data(&format!("-- migration {}: {} (checksum {})", one.version, one.name, one.checksum()))?;
        data(one.sql.trim_end())?;
    }
    Ok(Exit::Ok)
}
