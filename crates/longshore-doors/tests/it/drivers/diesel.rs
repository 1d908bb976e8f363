//! Diesel, by diesel-async, which needs no libpq.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use longshore::{JobId, SqlCall};

use super::{Driver, End, ORDER, parsed};

pub struct Diesel(AsyncPgConnection);

/// What the call answers.
#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Text)]
    id: String,
}

impl Driver for Diesel {
    async fn connect(url: &str) -> Self {
        Diesel(AsyncPgConnection::establish(url).await.expect("the test server answers"))
    }

    async fn order(&mut self, id: i64, call: &SqlCall, end: End) -> Result<JobId, String> {
        let mut job = None;
        let ended = self
            .0
            .transaction(async |conn| {
                diesel::sql_query(ORDER).bind::<BigInt, _>(id).execute(conn).await?;
                let enqueue = diesel::sql_query(call.sql()).bind::<Text, _>(call.argument());
                let answer: Answer = enqueue.get_result(conn).await?;
                job = Some(parsed(answer.id));
                match end {
                    End::Commit => Ok(()),
                    End::RollBack => Err(diesel::result::Error::RollbackTransaction),
                }
            })
            .await;
        match ended {
            Ok(()) | Err(diesel::result::Error::RollbackTransaction) => Ok(job.expect("it ran")),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn run(&mut self, sql: &str) {
        self.0.batch_execute(sql).await.expect("it runs");
    }
}
