//! A database for each test, on the server that the scripts start.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use longshore::Client;
use longshore::store::StoreOptions;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// The admin database of a running server.
const SERVER: &str = "LONGSHORE_TEST_DATABASE_URL";
const LONGEST_CASE: Duration = Duration::from_secs(90);

pub struct Server {
    pub url: String,
    pub client: Client,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Without a server this is the one test that says so; where everything must run, it fails.
pub fn left_out() {
    if variable(SERVER).is_some() {
        return;
    }
    let strict = variable("CI").is_some_and(|value| value == "true");
    assert!(!strict, "{SERVER} is not set: run scripts/test");
    println!("left out: PostgreSQL (run scripts/test)");
}

/// Runs `case` on a fresh database, and takes the database away whatever happened.
pub fn with_server(case: impl AsyncFnOnce(&Server)) {
    let Some(admin) = variable(SERVER) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let name = format!("longshore_doors_{}", Uuid::now_v7().simple());
        run(&admin, &format!("CREATE DATABASE {name}")).await;
        let url = with_database(&admin, &name);
        let options = StoreOptions { pool: 2, ..StoreOptions::default() };
        let client = Client::open_with(&url, options, Default::default()).await.expect("a client");
        client.migrate().await.expect("its schema");
        let server = Server { url, client };
        server.execute("CREATE TABLE orders (id bigint PRIMARY KEY)").await;
        let case = tokio::time::timeout(LONGEST_CASE, case(&server));
        let ended = AssertUnwindSafe(case).catch_unwind().await;
        server.client.close().await;
        run(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
        match ended {
            Ok(in_time) => in_time.expect("the test ends in time"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
}

impl Server {
    pub async fn execute(&self, sql: &str) {
        run(&self.url, sql).await;
    }

    async fn number(&self, sql: &str) -> i64 {
        let client = connect(&self.url).await;
        client.query_one(sql, &[]).await.expect("a number").get(0)
    }

    pub async fn orders(&self) -> i64 {
        self.number("SELECT count(*) FROM orders").await
    }

    pub async fn jobs(&self) -> i64 {
        self.number("SELECT count(*) FROM longshore.jobs").await
    }
}

pub async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the test server answers");
    tokio::spawn(connection);
    client
}

async fn run(url: &str, sql: &str) {
    connect(url).await.batch_execute(sql).await.expect("SQL by hand");
}

/// The same server's other database: the path between the host and a `?`.
fn with_database(url: &str, name: &str) -> String {
    let (head, options) = match url.split_once('?') {
        Some((head, options)) => (head, format!("?{options}")),
        None => (url, String::new()),
    };
    let (server, _) = head.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{name}{options}")
}
