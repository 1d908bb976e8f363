//! Requests that are carried out once, however often they are sent.

use super::Client;
use crate::job::NewJob;
use crate::store::{Once, RequestKey, Result};

impl Client {
    /// Adds all of `jobs`, or none, once for this request: a repeat within 24 hours adds nothing and is answered as
    /// the first was. A job that cannot be enqueued is named by its place ([`crate::StoreError::Invalid`]); what was
    /// refused is not remembered.
    pub async fn enqueue_once(&self, request: &RequestKey, jobs: Vec<NewJob>) -> Result<Once> {
        self.sending_all(jobs, async |jobs| self.once(request, jobs).await).await
    }

    async fn once(&self, request: &RequestKey, jobs: Vec<NewJob>) -> Result<Once> {
        self.check_all(&jobs)?;
        let (tally, request) = (self.tally(&jobs), request.clone());
        let asked =
            self.call(move |store| async move { store.enqueue_once(&request, &jobs).await });
        let once = asked.await?;
        if let Once::Now(added) = &once {
            tally.count(added);
            #[cfg(feature = "testing")]
            self.run_inline(added).await?;
        }
        Ok(once)
    }
}
