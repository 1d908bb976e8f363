//! `tower` layers around handlers.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::Call;
use crate::job::{BoxError, IntoOutcome, JobError, Outcome};
use crate::worker::Run;

/// A handler as a `tower` service: takes a [`Run`], answers an [`Outcome`].
#[derive(Clone)]
pub struct RunService(Call);

impl Service<Run> for RunService {
    type Response = Outcome;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Outcome, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, run: Run) -> Self::Future {
        let answer = (self.0.0)(run);
        Box::pin(async move { Ok(answer.await) })
    }
}

/// What a layer makes of a handler; implemented for every service that fits.
pub trait Layered:
    Service<Run, Response: IntoOutcome, Error: Into<BoxError>, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Layered for S where
    S: Service<Run, Response: IntoOutcome, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Puts a layer around a handler. The layer's service is made once and cloned for each run, so that a limit
/// is shared by all of them.
pub(crate) fn wrap<L, S>(layer: &L, inner: Call) -> Call
where
    L: Layer<RunService, Service = S>,
    S: Layered,
{
    let service = layer.layer(RunService(inner));
    Call::new(move |run| {
        let mut service = service.clone();
        async move {
            let failed = |error: S::Error| JobError::from_boxed(error.into()).into_outcome();
            if let Err(outcome) =
                std::future::poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)
            {
                return outcome;
            }
            service.call(run).await.map_or_else(failed, IntoOutcome::into_outcome)
        }
    })
}
