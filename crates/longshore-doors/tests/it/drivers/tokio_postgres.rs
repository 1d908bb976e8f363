//! tokio-postgres.

use longshore::{JobId, SqlCall};

use super::{Driver, End, ORDER, parsed};
use crate::server;

pub struct TokioPostgres(tokio_postgres::Client);

impl TokioPostgres {
    async fn try_order(
        &mut self,
        id: i64,
        call: &SqlCall,
        end: End,
    ) -> Result<JobId, tokio_postgres::Error> {
        let tx = self.0.transaction().await?;
        tx.execute(ORDER, &[&id]).await?;
        let row = tx.query_one(call.sql(), &[&call.argument()]).await?;
        let job = parsed(row.get("id"));
        match end {
            End::Commit => tx.commit().await?,
            End::RollBack => tx.rollback().await?,
        }
        Ok(job)
    }
}

impl Driver for TokioPostgres {
    async fn connect(url: &str) -> Self {
        TokioPostgres(server::connect(url).await)
    }

    async fn order(&mut self, id: i64, call: &SqlCall, end: End) -> Result<JobId, String> {
        // Its own text is "db error"; the server's words are the cause's.
        let words = |error: tokio_postgres::Error| {
            error.as_db_error().map_or(error.to_string(), |db| db.message().to_owned())
        };
        self.try_order(id, call, end).await.map_err(words)
    }

    async fn run(&mut self, sql: &str) {
        self.0.batch_execute(sql).await.expect("it runs");
    }
}
