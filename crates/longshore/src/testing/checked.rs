//! A future whose failure is the test's.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something that a test awaits. When it fails it panics, and the place that is shown is the test's `.await`.
#[must_use = "it does nothing until it is awaited"]
pub struct Checked<'a, T>(Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>);

impl<'a, T> Checked<'a, T> {
    pub(super) fn new(work: impl Future<Output = Result<T, String>> + Send + 'a) -> Self {
        Checked(Box::pin(work))
    }
}

impl<T> Future for Checked<'_, T> {
    type Output = T;

    // Called by the code of the `.await` itself, so that is the caller.
    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.0.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(text)) => panic!("{text}"),
        }
    }
}
