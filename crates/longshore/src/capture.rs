//! A layer for `tracing` that keeps what handlers say in their jobs' logs.

use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Instrument, Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::job::text;
use crate::store::{Level, MAX_LINE_BYTES};
use crate::worker::{Book, Run};

/// The target of the span around each run.
const TARGET: &str = "longshore::run";

/// Whether there is a layer; without one nothing is done for it.
static WANTED: AtomicBool = AtomicBool::new(false);

tokio::task_local! {
    /// The run that the current task works for.
    static CURRENT: Arc<Book>;
}

thread_local! {
    /// The run whose span is being made.
    static OPENING: RefCell<Option<Arc<Book>>> = const { RefCell::new(None) };
}

/// Keeps the events of `tracing` that come while a handler runs, each in the log of its run: those of the
/// handler's own task, and those within its span, wherever that was taken along (`.in_current_span()`). Which
/// levels: see [`crate::WorkerConfig::log_level`].
///
/// ```
/// use tracing_subscriber::prelude::*;
/// tracing_subscriber::registry().with(longshore::RunLog::layer()).init();
/// ```
pub struct RunLog {
    level: Level,
}

impl RunLog {
    /// The layer, for info and what is graver. A filter around all layers holds for it too; one around another
    /// layer does not.
    pub fn layer() -> RunLog {
        WANTED.store(true, Ordering::Relaxed);
        RunLog { level: Level::Info }
    }

    /// Hears lines from this level on. The worker must keep them as well ([`crate::WorkerConfig::log_level`]).
    pub fn with_level(self, level: Level) -> RunLog {
        RunLog { level }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RunLog {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        if attributes.metadata().target() != TARGET {
            return;
        }
        let book = OPENING.with(|opening| opening.borrow().clone());
        if let (Some(book), Some(span)) = (book, ctx.span(id)) {
            span.extensions_mut().replace(book);
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let metadata = event.metadata();
        let level = level(*metadata.level());
        if level > self.level {
            return;
        }
        let of_span = ctx.event_scope(event).and_then(|mut scope| {
            scope.find_map(|span| span.extensions().get::<Arc<Book>>().cloned())
        });
        let book = of_span.or_else(|| CURRENT.try_with(Arc::clone).ok());
        let Some(book) = book.filter(|book| book.wants(level)) else { return };
        let mut words = Words::default();
        event.record(&mut words);
        book.line(level, metadata.target(), &words.message, &words.fields);
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::TRACE => Level::Trace,
    }
}

/// Does the work in the span that `open` makes, and lets the layer know for which run. Without a layer there is a
/// span only where it is exported.
pub(crate) async fn within<T>(
    run: &Run,
    open: impl FnOnce() -> Span,
    work: impl Future<Output = T>,
) -> T {
    if !WANTED.load(Ordering::Relaxed) {
        let span = if cfg!(feature = "otel") { run.within(open()) } else { Span::none() };
        return work.instrument(span).await;
    }
    let book = Arc::clone(run.book());
    OPENING.with(|opening| opening.replace(Some(Arc::clone(&book))));
    let span = run.within(open());
    OPENING.with(|opening| opening.replace(None));
    CURRENT.scope(book, work.instrument(span)).await
}

/// An event's message and fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: Map<String, Value>,
}

impl Words {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.fields.insert(name.to_owned(), value);
            }
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        // A line keeps no more of it.
        let end = text.floor_char_boundary(MAX_LINE_BYTES + 64);
        let value = match field.name() {
            "message" => text[..end].to_owned(),
            _ => text::fit(&text[..end], MAX_LINE_BYTES / 4),
        };
        self.add(field, Value::String(value));
    }
}

impl Visit for Words {
    fn record_f64(&mut self, field: &Field, value: f64) {
        // NaN and the infinities are no JSON numbers.
        self.add(
            field,
            serde_json::Number::from_f64(value)
                .map_or_else(|| value.to_string().into(), Value::Number),
        );
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause.filter(|_| text.len() < MAX_LINE_BYTES) {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        self.text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = Bounded(String::new());
        // An error here is ours: there is enough of it.
        let _ = fmt::write(&mut text, format_args!("{value:?}"));
        self.text(field, &text.0);
    }
}

/// Text that ends when there is more than a line can hold.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.push_str(part);
        if self.0.len() > 2 * MAX_LINE_BYTES { Err(fmt::Error) } else { Ok(()) }
    }
}
