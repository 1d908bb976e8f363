//! `#[derive(Job)]` for Longshore, checked as a whole while the program is compiled.
//!
//! It is used as `longshore::Job`, through the feature `macros`. A `#[job(…)]` travels one way: read,
//! each value checked by the limits of `longshore::NewJob`, written out as an `impl Job` like one by hand.

mod name; // the rule for names
mod span; // spans of time
mod read; // names, what follows them, all faults at once
mod backoff; // `backoff = …`
mod meta; // `meta(…)`
mod unique; // `unique(…)`
mod fields; // what is said of fields, and their names in JSON
mod options; // `#[job(…)]` of a type
mod expand; // the `impl`
mod test; // `#[longshore::test]`

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a type a job: writes `impl Job` for it.
///
/// ```
/// use longshore::Job;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// pub struct MessageId(pub u64);
///
/// #[derive(Serialize, Deserialize, Job)]
/// #[job(
///     kind = "email.send",
///     alias = "mailer",
///     output = MessageId,
///     queue = "mail",
///     max_attempts = 8,
///     timeout = "30s",
///     backoff = exponential("5s", max = "1h"),
///     unique(by = [to, template], within = "10m"),
/// )]
/// pub struct SendEmail {
///     pub to: String,
///     pub template: String,
/// }
/// # assert_eq!(SendEmail::KIND, "email.send");
/// ```
///
/// The type is a struct or an enum without parameters, and has `Serialize` and `Deserialize`. Everything is
/// checked while the program is compiled, by the limits of `NewJob`; what is not said is as `NewJob::new` has
/// it, and what one job says itself wins: `email.new_job().priority(0)`.
///
/// | option | meaning |
/// |---|---|
/// | `kind = "email.send"` | the kind's name in the database, which stays when the type is renamed; must be said |
/// | `alias = "mailer"`, `alias = ["mailer", "email"]` | names the kind had before: the handler runs their jobs too |
/// | `output = MessageId` | what the handler answers, kept as the job's output. Default `()`: nothing |
/// | `version = 2` | which version of the payload the type is, 1 to 2,147,483,647. Default 1 |
/// | `upgrade = path::to::function` | brings older payloads up: `fn(from: u32, payload: Box<str>) -> Result<Box<str>, BoxError>`. Default: they fit as they are |
/// | `#[job(redact)]` on a field | nobody is shown it: it reads `"[redacted]"` for people, and only handlers see what it holds |
/// | `redact = ["token"]` | the same by names in the payload's JSON, for what is not a field of the type (flattened, in an enum) |
/// | `schema` | says what payloads look like, from the type's `schemars::JsonSchema` (schemars 1); needs the feature `schema` |
/// | `queue = "mail"` | default `default` |
/// | `priority = 2` | 0 runs first, 9 last. Default 5 |
/// | `run_in = "10m"` | due so long after the enqueue. Default: at once |
/// | `max_attempts = 8` | how often it may run in all, 1 to 1,000,000,000. Default 10 |
/// | `backoff = fixed("5s")` | the same wait after each failed attempt |
/// | `backoff = exponential("5s", factor = 3, max = "1h")` | uniform between `5s` and `5s * factor^attempt`, at most `max`. Default `factor = 3`, `max = "1h"`; without `backoff`, `exponential("1s")` |
/// | `backoff = polynomial("5s", exponent = 4, max = "1h")` | uniform between `5s` and `5s * attempt^exponent`, at most `max`; an exponent is 1 to 20. Default `exponent = 4`, `max = "1h"` |
/// | `backoff = list(["1s", "10s", "1m"])` | one wait for each attempt, 1 to 100; the last repeats |
/// | `backoff_with = path::to::function` | asks `fn(&Failure<'_>) -> Option<Duration>` after each failure; `None` leaves it to `backoff` |
/// | `timeout = "30s"`, `timeout = "none"` | how long one attempt may run, at least `1ms`. Default `1h` |
/// | `retain = "7d"` | how long it is kept once it succeeded or was cancelled. Default: as the database's rules say |
/// | `tags = ["mail", "user"]` | at most 64; one needs no brackets |
/// | `meta(team = "mail", tier = 2)` | notes: texts, whole numbers, `true`, `false` |
/// | `unique` | at most one active job with the same payload |
/// | `unique(…)` | the same by a key, or for longer; below |
/// | `crate = path::to::longshore` | where this library is, if it has another name. Default `::longshore` |
///
/// In `unique(…)`, all of it as `longshore::Unique` says:
///
/// | option | meaning |
/// |---|---|
/// | `by = [to, template]` | by the JSON of these fields, in whatever order they are listed; of a tuple `by = [0]` |
/// | `key = "nightly"` | by this key, whatever the payload is |
/// | `within = "10m"` | holds the key for a fixed window. Default: while the job is active |
/// | `for_good` | holds it for good, once the job succeeded |
/// | `on_conflict = "keep"` | `"keep"` answers with the holder, `"replace"` gives it this payload, `"refuse"` fails. Default `"keep"` |
/// | `same_payload` | refuses the same key with another payload |
///
/// A key by a redacted field is stored as its SHA-256.
///
/// Spans are written as on the command line, the largest unit first: `500ms`, `30s`, `5m`, `1h 30m`, `7d`. Names
/// (kind, alias, queue, tag, key) have 1 to 255 bytes and no invisible characters.
///
/// That no two types have one kind is found by `Worker::start`, and earlier by `longshore::distinct_kinds!`.
#[proc_macro_derive(Job, attributes(job))]
pub fn derive_job(input: TokenStream) -> TokenStream {
    expand::expand(&parse_macro_input!(input as DeriveInput)).into()
}

/// Makes an `async fn` that takes a `TestStore` a test, on a store and a runtime of its own.
///
/// ```
/// use longshore::NewJob;
/// use longshore::testing::TestStore;
///
/// #[longshore::test]
/// async fn a_job_is_enqueued(store: TestStore) -> Result<(), longshore::StoreError> {
///     store.enqueue(NewJob::new("greet")).await?;
///     Ok(())
/// }
/// ```
///
/// It may return what a test may. Other attributes (`#[ignore]`, `#[should_panic]`) stay as they are.
///
/// | written | makes |
/// |---|---|
/// | `#[longshore::test]` | a test on SQLite |
/// | `#[longshore::test(postgres)]` | a test on PostgreSQL, on the server that `LONGSHORE_TEST_DATABASE_URL` names; left out with a line that says so where there is none, a failure where `CI` is `true` |
/// | `#[longshore::test(both)]` | two tests, `name::sqlite` and `name::postgres` |
/// | `#[longshore::test(crate = path::to::longshore)]` | where this library is, if it has another name. Default `::longshore` |
#[proc_macro_attribute]
pub fn test(options: TokenStream, function: TokenStream) -> TokenStream {
    test::expand(options.into(), function.into()).into()
}
