//! One order and its job in one transaction, as each driver's users write it. A file each: traits of two
//! drivers have methods of the same name.

mod diesel;
mod sea_orm;
mod tokio_postgres;

use longshore::{JobId, SqlCall};

pub use self::diesel::Diesel;
pub use self::sea_orm::SeaOrm;
pub use self::tokio_postgres::TokioPostgres;

const ORDER: &str = "INSERT INTO orders (id) VALUES ($1)";

/// How a transaction ends.
#[derive(Clone, Copy)]
pub enum End {
    Commit,
    RollBack,
}

/// A connection of one of the drivers.
pub trait Driver: Sized {
    async fn connect(url: &str) -> Self;

    /// Begins, inserts the order, runs the call, and ends so; answers the job's id. What is refused is
    /// rolled back, and answered in the driver's words.
    async fn order(&mut self, id: i64, call: &SqlCall, end: End) -> Result<JobId, String>;

    /// A statement outside of all transactions.
    async fn run(&mut self, sql: &str);
}

fn parsed(id: String) -> JobId {
    id.parse().expect("the function answers an id")
}
