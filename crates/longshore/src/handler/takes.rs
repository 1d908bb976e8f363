//! The shape of a handler: which job it takes first, what else, and whether it is async.

use std::future::Future;

/// Takes a job of type `J`, then the arguments `Args`; what these are is not asked here.
///
/// A handler is tried against this first. With the types known, the compiler can say which of them is wrong;
/// without, only that none of nine ways to be a [`super::Handler`] fits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    label = "no function of a job and up to eight more arguments",
    note = "a handler is `async fn(job: MyJob, …) -> Result<<MyJob as Job>::Output, JobError>`, where MyJob implements `Job`",
    note = "each argument after the job is its own value, not a reference, and implements `FromRun`"
)]
pub trait Takes<J, Args> {}

macro_rules! takes {
    ($($arg:ident),*) => {
        impl<Fun, Said, J, $($arg,)*> Takes<J, ($($arg,)*)> for Fun
        where
            Fun: Fn(J, $($arg),*) -> Said,
        {
        }
    };
}

takes!();
takes!(A1);
takes!(A1, A2);
takes!(A1, A2, A3);
takes!(A1, A2, A3, A4);
takes!(A1, A2, A3, A4, A5);
takes!(A1, A2, A3, A4, A5, A6);
takes!(A1, A2, A3, A4, A5, A6, A7);
takes!(A1, A2, A3, A4, A5, A6, A7, A8);

#[diagnostic::do_not_recommend]
impl<H, L, J, Args> Takes<J, Args> for super::WithLayer<H, L, J, Args> {}

/// What an async function answers at once: a future. Implemented for all of them.
#[diagnostic::on_unimplemented(
    message = "this handler is not async: it answers `{Self}`, which is no future",
    label = "not an async function",
    note = "a function that is not async goes to `Worker::job_blocking`, and runs on a thread of its own"
)]
pub trait Later: Future {}

#[diagnostic::do_not_recommend]
impl<F: Future> Later for F {}
