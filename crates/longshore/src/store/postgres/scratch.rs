//! A database for one test, cloned from a template that is migrated once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, Row};
use uuid::Uuid;

use super::{MIGRATIONS, PostgresStore, connect};
use crate::hash::fnv1a;
use crate::store::{Result, Store, StoreError, StoreOptions, without_secret};
use crate::time::Timestamp;

const DATABASES: &str = include_str!("scratch_databases.sql");
const LOCK: &str = include_str!("scratch_lock.sql");

/// Only a test whose process was killed leaves its database; this long after, another test removes it.
const LEFT_FOR: Duration = Duration::from_secs(3_600);
/// Held while the template is made, by whichever process comes first.
const TEMPLATE_LOCK: i64 = 0x10_17_54_04;

/// A database of its own; [`Scratch::remove`] takes it away.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    server: String,
    name: String,
    /// What a store connects to.
    pub url: String,
}

impl Scratch {
    /// A fresh one, migrated, on the server of this URL. Its user must be allowed to make databases.
    pub async fn make(server: &str) -> Result<Scratch> {
        let mut conn = admin(server).await?;
        conn.execute(sqlx::query(LOCK).bind(TEMPLATE_LOCK)).await.map_err(failed(server))?;
        sweep(&mut conn).await.map_err(failed(server))?;
        let template = template(server, &mut conn).await?;
        let name = format!("longshore_kit_{}", Uuid::now_v7().simple());
        let clone = format!("CREATE DATABASE {name} TEMPLATE {template}");
        conn.execute(AssertSqlSafe(clone)).await.map_err(failed(server))?;
        // Not an error: the lock goes with the connection in any case.
        let _ = conn.close().await;
        let url = with_database(server, &name);
        Ok(Scratch { server: server.to_owned(), name, url })
    }

    /// Whoever is still connected is cut off.
    pub async fn remove(&self) -> Result<()> {
        let mut conn = admin(&self.server).await?;
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        conn.execute(AssertSqlSafe(drop)).await.map_err(failed(&self.server))?;
        let _ = conn.close().await;
        Ok(())
    }
}

/// The name of the migrated database that others are cloned from. It says what it was made of, so that
/// another version of this library makes another one.
async fn template(server: &str, conn: &mut PgConnection) -> Result<String> {
    let hash = fnv1a(MIGRATIONS.iter().flat_map(|step| step.sql.bytes()));
    let name = format!("longshore_kit_template_{hash:016x}");
    let known = conn.fetch_all(DATABASES).await.map_err(failed(server))?;
    if known.iter().any(|row| row.get::<&str, _>("name") == name) {
        return Ok(name);
    }
    // Under another name until it is whole: a run that is cut off leaves nothing half made.
    let draft = format!("{name}_draft");
    for order in [
        format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)"),
        format!("CREATE DATABASE {draft}"),
    ] {
        conn.execute(AssertSqlSafe(order)).await.map_err(failed(server))?;
    }
    let options = StoreOptions { pool: 1, notify: false, ..StoreOptions::default() };
    let store = PostgresStore::open(&with_database(server, &draft), options).await?;
    let migrated = store.migrate().await;
    store.close().await;
    migrated?;
    let rename = format!("ALTER DATABASE {draft} RENAME TO {name}");
    conn.execute(AssertSqlSafe(rename)).await.map_err(failed(server))?;
    Ok(name)
}

/// Removes what killed tests left, once in a process.
async fn sweep(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    static SWEPT: AtomicBool = AtomicBool::new(false);
    if SWEPT.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    for row in conn.fetch_all(DATABASES).await? {
        let (name, in_use): (&str, bool) = (row.get("name"), row.get("in_use"));
        let Some(made_at) = name.strip_prefix("longshore_kit_").and_then(made_at) else { continue };
        if !in_use && Timestamp::now().since(made_at) > LEFT_FOR {
            conn.execute(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name}"))).await?;
        }
    }
    Ok(())
}

/// When a database was made: its name is an id of version 7.
fn made_at(id: &str) -> Option<Timestamp> {
    let (seconds, nanos) = Uuid::try_parse(id).ok()?.get_timestamp()?.to_unix();
    Some(Timestamp::from_micros(seconds as i64 * 1_000_000 + i64::from(nanos) / 1_000))
}

async fn admin(server: &str) -> Result<PgConnection> {
    connect::parse(server)?.connect().await.map_err(connect::fault)
}

/// The server's words, and what to do: whoever sets up tests reads them.
fn failed(server: &str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| {
        let server = without_secret(server);
        let what = format!("could not make or remove a test's database on {server}");
        match error.as_database_error() {
            Some(reply) if reply.code().as_deref() == Some("42501") => StoreError::config(format!(
                "{what}: {}; its user must be allowed to make databases (ALTER ROLE … CREATEDB)",
                reply.message()
            )),
            _ => StoreError::config(format!("{what}: {error}")),
        }
    }
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, ""), |(a, o)| (a, o));
    let Some((scheme, rest)) = address.split_once("://") else { return url.to_owned() };
    let host = rest.split('/').next().unwrap_or_default();
    let options = if options.is_empty() { String::new() } else { format!("?{options}") };
    format!("{scheme}://{host}/{name}{options}")
}
