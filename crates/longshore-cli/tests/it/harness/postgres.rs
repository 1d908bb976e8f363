//! Fresh databases on the server that `LONGSHORE_TEST_DATABASE_URL` names.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

const SERVER: &str = "LONGSHORE_TEST_DATABASE_URL";

/// A database that goes when the test is over.
pub struct Database {
    pub url: String,
    name: String,
    server: String,
}

impl Database {
    /// An empty one; `None` where no server is named.
    pub fn fresh() -> Option<Database> {
        let server = std::env::var(SERVER).ok()?;
        let name = format!("longshore_cli_{}", uuid::Uuid::now_v7().simple());
        admin(&server, format!("CREATE DATABASE {name}")).expect("the server makes a database");
        Some(Database { url: sibling(&server, &name), name, server })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropped = admin(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.name));
        if let Err(error) = dropped {
            eprintln!("{} stays behind: {error}", self.name);
        }
    }
}

/// The same server's address with another database.
fn sibling(server: &str, name: &str) -> String {
    let (address, options) = server.split_once('?').unwrap_or((server, ""));
    let host_from = address.find("://").map_or(0, |at| at + 3);
    let base = address[host_from..].find('/').map_or(address, |at| &address[..host_from + at]);
    if options.is_empty() { format!("{base}/{name}") } else { format!("{base}/{name}?{options}") }
}

fn admin(server: &str, sql: String) -> sqlx::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = PgConnection::connect(server).await?;
        // The name is our own, of letters and digits.
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
        connection.close().await
    })
}

#[test]
fn postgres_is_tried_too() {
    if std::env::var_os(SERVER).is_none() {
        assert!(std::env::var_os("CI").is_none(), "{SERVER} is not set");
        println!("left out: PostgreSQL (run scripts/test)");
    }
}

#[test]
fn the_database_is_replaced_in_the_address() {
    assert_eq!(
        sibling("postgres://u:p@h:5/d?sslmode=disable", "x"),
        "postgres://u:p@h:5/x?sslmode=disable"
    );
    assert_eq!(sibling("postgres://h", "x"), "postgres://h/x");
}
