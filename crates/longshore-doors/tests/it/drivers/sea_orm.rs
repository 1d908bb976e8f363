//! SeaORM.

use longshore::{JobId, SqlCall};
use sea_orm::{
    ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement, TransactionTrait,
};

use super::{Driver, End, ORDER, parsed};

pub struct SeaOrm(DatabaseConnection);

impl SeaOrm {
    async fn try_order(&self, id: i64, call: &SqlCall, end: End) -> Result<JobId, sea_orm::DbErr> {
        let tx = self.0.begin().await?;
        let order = Statement::from_sql_and_values(DbBackend::Postgres, ORDER, [id.into()]);
        tx.execute_raw(order).await?;
        let argument = [call.argument().into()];
        let call = Statement::from_sql_and_values(DbBackend::Postgres, call.sql(), argument);
        let row = tx.query_one_raw(call).await?.expect("one row");
        let job = parsed(row.try_get("", "id")?);
        match end {
            End::Commit => tx.commit().await?,
            End::RollBack => tx.rollback().await?,
        }
        Ok(job)
    }
}

impl Driver for SeaOrm {
    async fn connect(url: &str) -> Self {
        let mut options = sea_orm::ConnectOptions::new(url);
        options.max_connections(1);
        SeaOrm(Database::connect(options).await.expect("the test server answers"))
    }

    async fn order(&mut self, id: i64, call: &SqlCall, end: End) -> Result<JobId, String> {
        self.try_order(id, call, end).await.map_err(|error| error.to_string())
    }

    async fn run(&mut self, sql: &str) {
        self.0.execute_unprepared(sql).await.expect("it runs");
    }
}
