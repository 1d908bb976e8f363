//! Requests that are carried out once.

use sqlx::Row;

use super::SqliteStore;
use super::enqueue::{DOING, add_all};
use super::error::failed;
use super::sql::REQUEST;
use crate::job::NewJob;
use crate::store::once::{before, kept};
use crate::store::{Once, REQUESTS_KEPT, Repeat, RequestKey, Result, Wake};

impl SqliteStore {
    pub(super) async fn add_once(&self, request: &RequestKey, jobs: &[NewJob]) -> Result<Once> {
        let now = self.clock.now();
        let old = now.minus(REQUESTS_KEPT).as_micros();
        let mut tx = self.begin(DOING).await?;
        sqlx::query(REQUEST.step("prune"))
            .bind(old)
            .execute(&mut *tx)
            .await
            .map_err(failed(DOING))?;
        let taken = sqlx::query(REQUEST.step("take"))
            .bind(request.key.to_vec())
            .bind(request.fingerprint.to_vec())
            .bind(now.as_micros())
            .bind(old)
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(DOING))?;
        if taken.is_none() {
            let row = sqlx::query(REQUEST.step("find"))
                .bind(request.key.to_vec())
                .fetch_one(&mut *tx)
                .await
                .map_err(failed(DOING))?;
            let fingerprint: Vec<u8> = row.try_get(0).map_err(failed(DOING))?;
            let answer: Option<String> = row.try_get(1).map_err(failed(DOING))?;
            return before(request, &fingerprint, answer.as_deref());
        }
        let added = add_all(&mut tx, jobs, Repeat::No, now).await?;
        sqlx::query(REQUEST.step("answer"))
            .bind(request.key.to_vec())
            .bind(kept::write(&added))
            .execute(&mut *tx)
            .await
            .map_err(failed(DOING))?;
        tx.commit().await.map_err(failed(DOING))?;
        let from_start = added.iter().any(|answer| answer.is_replaced());
        self.hub.wake(if from_start { Wake::LookFromStart } else { Wake::Look });
        Ok(Once::Now(added))
    }
}
