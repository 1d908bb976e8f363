//! The end of a handler that worked in a transaction of its own: both are committed together.

use std::sync::Arc;

use super::run::{Run, Went};
use crate::job::outcome::storable;
use crate::job::{JobError, Outcome, State};
use crate::store::{Ack, DoneInTx, Held};

/// Ends the handler's transaction, if there is one, and says how the run went after that.
///
/// When the reply to the commit is lost, the run is said to have failed; writing that waits for the
/// transaction and finds the job gone if it was committed.
pub(super) async fn settle(run: &Run, went: Went) -> Went {
    let open = match run.tx().take() {
        Ok(None) => return went,
        Ok(Some(open)) => open,
        Err(held) => {
            return match went {
                Went::Answered(Outcome::Done(_)) => Went::Answered(Outcome::Failed(held)),
                other => other,
            };
        }
    };
    let Went::Answered(Outcome::Done(output)) = went else {
        // Dropped: rolled back.
        return went;
    };
    let output = output.map(storable);
    let (store, node) = (run.client().store().clone(), run.node());
    let book = run.opened_book().cloned();
    let said = match &book {
        Some(book) => run.scribe().take_last(book).await,
        None => Vec::new(),
    };
    let scribe = Arc::clone(run.scribe());
    let held = Held { id: run.id(), lease: run.lease() };
    // A task of its own: cut off, the run no longer waits for it, but it ends one way or the other.
    let ending = run.client().engine().spawn(async move {
        {
            let done = DoneInTx { held, output: output.as_deref(), said: &said };
            let ack = store.finish_tx(open, node, done).await;
            if matches!(ack, Ok(Ack::Recorded(State::Succeeded))) {
                scribe.closed(std::iter::once(held.id));
            } else if let Some(book) = book {
                // Rolled back, and these words with it: they are written with the run's end.
                said.into_iter().rev().for_each(|saying| book.put_back(saying));
            }
            ack
        }
    });
    let outcome = match ending.await {
        Ok(Ok(Ack::Recorded(State::Succeeded))) => return Went::Committed,
        Ok(Ok(Ack::Recorded(_))) => Outcome::Cancel("cancelled; its work was rolled back".into()),
        Ok(Ok(Ack::LeaseLost)) => {
            Outcome::Failed(JobError::new("the lease was lost; its work was rolled back"))
        }
        Ok(Err(error)) => Outcome::Failed(error.into()),
        Err(error) => Outcome::Failed(error.into()),
    };
    Went::Answered(outcome)
}
