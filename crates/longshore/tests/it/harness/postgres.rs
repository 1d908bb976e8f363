//! A PostgreSQL database for each test, cloned from one that was migrated once.

use std::path::Path;

use longshore::{Clock, StoreOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

/// The admin database of a running server.
const SERVER: &str = "LONGSHORE_TEST_DATABASE_URL";
/// The same server through a pooler in transaction mode.
const POOLER: &str = "LONGSHORE_TEST_POOLER_URL";
/// Held while the template is made, by whichever process comes first.
const TEMPLATE_LOCK: i64 = 0x10_17_54_03;

/// A database that goes when the test is over.
pub struct TestDatabase {
    /// What the store under test connects to.
    pub url: String,
    /// The same past the pooler.
    pub direct: String,
    pub pooled: bool,
    name: String,
}

/// Whether there is a server to test on.
pub fn is_there() -> bool {
    variable(SERVER).is_some()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Without a server this is the one test that says so; where everything must run, it fails.
pub fn left_out() {
    if is_there() && variable(POOLER).is_some() {
        return;
    }
    let strict = variable("CI").is_some_and(|value| value == "true");
    assert!(!strict, "{SERVER} or {POOLER} is not set: run scripts/test");
    println!("left out: PostgreSQL (run scripts/test)");
}

impl TestDatabase {
    /// A fresh one; `None` without a server.
    pub async fn fresh(pooled: bool) -> Option<TestDatabase> {
        let server = variable(SERVER)?;
        let door = if pooled { variable(POOLER)? } else { server.clone() };
        let template = template(&server).await;
        let name = format!("longshore_test_{}", Uuid::now_v7().simple());
        admin(&server, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        let (url, direct) = (with_database(&door, &name), with_database(&server, &name));
        Some(TestDatabase { url, direct, pooled, name })
    }

    /// Nobody shall be connected any more; whoever is, is cut off.
    pub async fn remove(&self) {
        let server = variable(SERVER).expect("it was there");
        admin(&server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)).await;
    }

    pub async fn conn(&self) -> PgConnection {
        PgConnection::connect(&self.direct).await.expect("a connection of the test's own")
    }

    pub async fn execute(&self, sql: String) {
        let mut conn = self.conn().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.expect("SQL by hand");
        conn.close().await.expect("the connection closes");
    }

    pub async fn number(&self, sql: String) -> i64 {
        let mut conn = self.conn().await;
        let number = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut conn).await;
        conn.close().await.expect("the connection closes");
        number.expect("a number")
    }

    /// A connection of the application's own with a transaction open on it.
    pub async fn transaction(&self) -> PgConnection {
        let options =
            self.url.parse::<sqlx::postgres::PgConnectOptions>().expect("our own address");
        let mut conn = PgConnection::connect_with(&options).await.expect("a connection");
        sqlx::raw_sql("BEGIN").execute(&mut conn).await.expect("a transaction");
        conn
    }
}

/// The migrated database that tests are cloned from; made by whoever needs it first. Its name is the
/// checksum of all that makes it, so an edited migration makes another one.
async fn template(server: &str) -> String {
    let name = format!("longshore_template_{:016x}", checksum());
    let mut conn = PgConnection::connect(server).await.expect("the test server answers");
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(TEMPLATE_LOCK)
        .execute(&mut conn)
        .await
        .expect("the lock");
    let there: bool =
        sqlx::query_scalar("SELECT exists (SELECT FROM pg_database WHERE datname = $1)")
            .bind(&name)
            .fetch_one(&mut conn)
            .await
            .expect("the list of databases");
    if !there {
        // Under another name until it is whole: a run that is cut off leaves nothing half made.
        let draft = format!("{name}_draft");
        admin(server, format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)")).await;
        admin(server, format!("CREATE DATABASE {draft}")).await;
        let options = StoreOptions { clock: Clock::real(), ..StoreOptions::default() };
        let store = longshore::store::open(&with_database(server, &draft), options)
            .await
            .expect("the template opens");
        store.migrate().await.expect("the template migrates");
        store.close().await;
        admin(server, format!("ALTER DATABASE {draft} RENAME TO {name}")).await;
    }
    conn.close().await.expect("the connection closes, and its lock with it");
    name
}

/// FNV-1a over the backend's files, in the order of their names.
fn checksum() -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/postgres/migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the migrations")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| std::fs::read(file).expect("a file"))
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

async fn admin(server: &str, sql: String) {
    let mut conn = PgConnection::connect(server).await.expect("the test server answers");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.expect("an order to the server");
    conn.close().await.expect("the connection closes");
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, ""), |(a, o)| (a, o));
    let (scheme, rest) = address.split_once("://").expect("an address has a scheme");
    let host = rest.split('/').next().unwrap_or_default();
    let options = if options.is_empty() { String::new() } else { format!("?{options}") };
    format!("{scheme}://{host}/{name}{options}")
}
