//! What handlers say to `tracing`, in the log of their runs.

use std::sync::Once;

use longshore::store::{Level, LogQuery};
use longshore::{Run, RunLog};
use tracing::Instrument;
use tracing_subscriber::prelude::*;

use super::*;

/// One for the process, as in an application: without a filter, and beside a layer that has one.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let quiet = tracing_subscriber::filter::LevelFilter::ERROR;
        let lines = tracing_subscriber::fmt::layer().with_test_writer().with_filter(quiet);
        tracing_subscriber::registry().with(lines).with(RunLog::layer()).init();
    });
}

async fn lines(d: &Desk, id: JobId) -> Vec<(Level, String, String)> {
    let page = d.client.logs(id, LogQuery::default()).await.expect("a log");
    let line = |line: longshore::store::LogRow| {
        let fields = line.fields.map(|fields| fields.get().to_owned()).unwrap_or_default();
        (line.level, line.message, fields)
    };
    page.lines.into_iter().map(line).collect()
}

pub async fn events_of_a_handler_are_kept_with_its_run(d: Arc<Desk>) {
    listen();
    let worker = d
        .worker()
        .handle("told", |run: Run| async move {
            let name = run.payload().to_owned();
            tracing::info!(%name, n = 3, "begun");
            tracing::debug!("too fine");
            // A task of its own, within the run's span.
            let child = async { tracing::warn!(ok = true, "from a child") }.in_current_span();
            tokio::spawn(child).await.expect("no panic");
            // One that left the span is nobody's.
            let stray = tokio::spawn(async { tracing::warn!("a stray") });
            stray.await.expect("no panic");
            tokio::task::yield_now().await;
            async { tracing::error!("deeper") }.instrument(tracing::info_span!("inner")).await;
            tracing::info!(target: "elsewhere", "{}", "x".repeat(20_000));
        })
        .handle_blocking("blocks", |run: Run| tracing::info!("of {}", run.payload()))
        .start()
        .expect("it starts");
    let ids =
        d.enqueue_many((0..20).map(|n| NewJob::new("told").payload(n.to_string())).collect()).await;
    let blocked = d.enqueue(NewJob::new("blocks").payload("7")).await;
    until("all ran", async || d.count(State::Succeeded).await == 21).await;

    tracing::info!("of no run");
    for (n, id) in ids.into_iter().enumerate() {
        let lines = lines(&d, id).await;
        let short: Vec<(Level, &str, &str)> =
            lines[..3].iter().map(|(level, text, fields)| (*level, &**text, &**fields)).collect();
        let name = format!(r#"{{"n":3,"name":"{n}"}}"#);
        assert_eq!(
            short,
            [
                (Level::Info, "begun", &*name),
                (Level::Warn, "from a child", r#"{"ok":true}"#),
                (Level::Error, "deeper", ""),
            ]
        );
        assert!(lines[3].1.ends_with("(cut)"), "{}", lines[3].1.len());
        assert_eq!(lines.len(), 4);
    }
    assert_eq!(lines(&d, blocked).await[0].1, "of 7");
    worker.stop().await;
}
