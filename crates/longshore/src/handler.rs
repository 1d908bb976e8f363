//! Handlers of typed jobs: async functions (and, on a thread of their own, plain ones).
//!
//! From the outside in: decode the payload, take the arguments, call the function, turn what it answers into an
//! outcome.

mod answer;
mod decode;
mod layer;
mod takes;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use tower_layer::Layer;

pub use answer::IntoAnswer;
use decode::decode;
#[cfg(feature = "testing")]
pub(crate) use decode::read;
pub(crate) use decode::{DecodeCheck, check, words};
pub(crate) use layer::wrap;
pub use layer::{Layered, RunService};
pub use takes::{Later, Takes};

use crate::extract::{FromRun, Given};
use crate::job::{Job, JobError, Outcome};
use crate::worker::Run;

/// A function that runs jobs of type `J`: the job first, then up to eight arguments that are taken from the run
/// ([`FromRun`]). It answers the job's output, or a `Result` of it whose error says what becomes of the job
/// ([`JobError`]). Implemented for all async functions and closures that fit, as long as they are `Clone`; each run
/// calls a clone.
///
/// ```
/// # use longshore::{Job, JobError, extract::{Attempt, State}};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Add(u64, u64);
/// # impl Job for Add { const KIND: &'static str = "add"; type Output = u64; }
/// # #[derive(Clone)] struct Limit(u64);
/// async fn add(Add(a, b): Add) -> u64 {
///     a + b
/// }
/// async fn add_carefully(job: Add, limit: State<Limit>, attempt: Attempt) -> Result<u64, JobError> {
///     let sum = job.0.checked_add(job.1).ok_or_else(|| JobError::dead("too large"))?;
///     if sum > limit.0.0 && !attempt.is_last() {
///         return Err(JobError::new("above the limit")); // tried again, by the job's backoff
///     }
///     Ok(sum)
/// }
/// # fn example(client: longshore::Client) {
/// # longshore::Worker::new(client.clone()).job(add);
/// # longshore::Worker::new(client).state(Limit(9)).job(add_carefully);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot handle jobs of type `{J}`",
    label = "this is no handler",
    note = "a handler is `async fn(job: MyJob, …) -> Result<<MyJob as Job>::Output, JobError>`, where MyJob implements `Job`",
    note = "each argument after the job implements `FromRun`, and nothing that is not `Send` (`Rc`, a lock's guard) lives across an await"
)]
pub trait Handler<J: Job, Args>: Sized + Send + Sync + 'static {
    /// As the runtime calls it.
    #[doc(hidden)]
    fn into_call(self) -> Call;

    /// What is missing for its arguments; the text says how to give it.
    fn check(given: &Given<'_>) -> Result<(), String>;

    /// Puts a `tower` layer around it. The layer's service is made once, so that a limit is shared by all
    /// runs of the handler; its errors fail the attempt.
    fn layer<L>(self, layer: L) -> WithLayer<Self, L, J, Args>
    where
        L: Layer<RunService, Service: Layered> + Send + Sync + 'static,
    {
        WithLayer { handler: self, layer, takes: PhantomData }
    }
}

/// The same for a function that may block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot handle jobs of type `{J}`",
    label = "this is no blocking handler",
    note = "a blocking handler is `fn(job: MyJob, …) -> Result<<MyJob as Job>::Output, JobError>`; an async one goes to `Worker::job`"
)]
pub trait BlockingHandler<J: Job, Args>: Sized + Send + Sync + 'static {
    /// As the runtime calls it.
    #[doc(hidden)]
    fn into_call(self) -> Call;

    /// What is missing for its arguments; the text says how to give it.
    fn check(given: &Given<'_>) -> Result<(), String>;
}

pub(crate) type Answer = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A handler as the runtime calls it.
#[derive(Clone)]
pub struct Call(pub(crate) Arc<dyn Fn(Run) -> Answer + Send + Sync>);

impl Call {
    pub(crate) fn new<A>(call: impl Fn(Run) -> A + Send + Sync + 'static) -> Call
    where
        A: Future<Output = Outcome> + Send + 'static,
    {
        Call(Arc::new(move |run| Box::pin(call(run))))
    }
}

/// A handler with a `tower` layer around it.
pub struct WithLayer<H, L, J, Args> {
    handler: H,
    layer: L,
    takes: PhantomData<fn(J, Args)>,
}

#[diagnostic::do_not_recommend]
impl<H, L, J, Args> Handler<J, Args> for WithLayer<H, L, J, Args>
where
    H: Handler<J, Args>,
    L: Layer<RunService, Service: Layered> + Send + Sync + 'static,
    J: Job,
    Args: 'static,
{
    fn into_call(self) -> Call {
        wrap(&self.layer, self.handler.into_call())
    }

    fn check(given: &Given<'_>) -> Result<(), String> {
        H::check(given)
    }
}

/// Goes on with a value, or answers at once.
macro_rules! or_answer {
    ($result:expr, $answer:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return $answer(error),
        }
    };
}

/// One trait for functions of so many arguments: the two differ in what they answer, and in whether that is
/// waited for.
macro_rules! handler {
    ($trait:ident, $answer:ident: [$($bound:tt)*], [$($wait:tt)*], $($arg:ident),*) => {
        impl<Fun, $answer, J, $($arg,)*> $trait<J, ($($arg,)*)> for Fun
        where
            Fun: Fn(J, $($arg),*) -> $answer + Clone + Send + Sync + 'static,
            $answer: $($bound)*,
            J: Job,
            $($arg: FromRun + 'static,)*
        {
            #[allow(non_snake_case, reason = "arguments are named by their types")]
            fn into_call(self) -> Call {
                Call::new(move |run| {
                    let fun = self.clone();
                    async move {
                        let job = or_answer!(decode::<J>(&run), std::convert::identity);
                        $(let $arg = or_answer!($arg::from_run(&run).await, JobError::into_outcome);)*
                        fun(job, $($arg),*)$($wait)*.into_answer()
                    }
                })
            }

            #[allow(unused_variables, reason = "without arguments nothing is asked")]
            fn check(given: &Given<'_>) -> Result<(), String> {
                $($arg::check(given)?;)*
                Ok(())
            }
        }
    };
}

macro_rules! handlers {
    ($($arg:ident),*) => {
        handler!(
            Handler,
            Fut: [Later<Output: IntoAnswer<J::Output>> + Send + 'static],
            [.await],
            $($arg),*
        );
        handler!(BlockingHandler, Said: [IntoAnswer<J::Output>], [], $($arg),*);
    };
}

handlers!();
handlers!(A1);
handlers!(A1, A2);
handlers!(A1, A2, A3);
handlers!(A1, A2, A3, A4);
handlers!(A1, A2, A3, A4, A5);
handlers!(A1, A2, A3, A4, A5, A6);
handlers!(A1, A2, A3, A4, A5, A6, A7);
handlers!(A1, A2, A3, A4, A5, A6, A7, A8);
