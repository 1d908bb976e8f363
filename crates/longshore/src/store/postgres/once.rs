//! Requests that are carried out once.

use sqlx::Row;

use crate::job::NewJob;
use crate::store::once::{before, kept};
use crate::store::{Once, REQUESTS_KEPT, Repeat, RequestKey, Result, StoreError, Wake};

use super::PostgresStore;
use super::enqueue::{Call, DOING, How, add_all};
use super::error::{Fault, Tries, sqlstate};
use super::session::{Session, within};

const TAKE: &str = include_str!("request_take.sql");
const FIND: &str = include_str!("request_find.sql");
const ANSWER: &str = include_str!("request_answer.sql");

impl PostgresStore {
    pub(super) async fn add_once(&self, request: &RequestKey, jobs: &[NewJob]) -> Result<Once> {
        let mut tries = Tries::repeatable(DOING);
        let (once, wake) = loop {
            match within(self.patience(), self.try_add_once(request, jobs)).await {
                Ok(done) => break done,
                Err(Fault::Db(error)) if sqlstate(&error).as_deref() == Some("55P03") => {
                    return Err(StoreError::KeyBusy);
                }
                // After a lost reply the request may be found carried out, by ourselves.
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        if let Some(wake) = wake {
            self.tell(wake);
        }
        Ok(once)
    }

    async fn try_add_once(
        &self,
        request: &RequestKey,
        jobs: &[NewJob],
    ) -> Result<(Once, Option<Wake>), Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        session.wait_for_rows(self.options.busy_for).await?;
        let taken = session
            .query(TAKE)
            .bind(request.key.to_vec())
            .bind(request.fingerprint.to_vec())
            .bind(self.clock.fixed())
            .bind(super::micros(REQUESTS_KEPT))
            .fetch_optional(session.conn())
            .await?;
        if taken.is_none() {
            let query = session.query(FIND).bind(request.key.to_vec());
            let row = query.fetch_one(session.conn()).await?;
            let (fingerprint, answer): (Vec<u8>, Option<String>) =
                (row.try_get(0)?, row.try_get(1)?);
            session.undo().await?;
            let once = before(request, &fingerprint, answer.as_deref());
            return once.map(|once| (once, None)).map_err(Fault::Known);
        }
        let how = How::silent(self.named(), self.clock.fixed(), Repeat::No);
        let done = async {
            let added = add_all(session.conn(), &Call::of(jobs), how).await?;
            let wake = added.wake();
            let answers = added.answers(jobs);
            let query =
                session.query(ANSWER).bind(request.key.to_vec()).bind(kept::write(&answers));
            query.execute(session.conn()).await?;
            Ok((Once::Now(answers), wake))
        };
        let done = done.await;
        session.end(done).await
    }
}
