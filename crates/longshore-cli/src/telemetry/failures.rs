//! Spans that could not be sent: dropped, and said once a minute.

use std::fmt::Display;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// A collector that is away must not fill the log.
const APART: Duration = Duration::from_secs(60);

/// An exporter whose failures are told.
#[derive(Debug)]
pub(super) struct Told<E> {
    exporter: E,
    dropped: Mutex<Dropped>,
}

/// What was not told yet.
#[derive(Debug, Default)]
struct Dropped {
    spans: usize,
    told: Option<Instant>,
}

impl Dropped {
    /// How many to tell of, now that `spans` more are lost; `None` if that can wait.
    fn more(&mut self, spans: usize, now: Instant) -> Option<usize> {
        self.spans += spans;
        if self.told.is_some_and(|told| now.duration_since(told) < APART) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.spans))
    }
}

impl<E> Told<E> {
    pub fn new(exporter: E) -> Told<E> {
        Told { exporter, dropped: Mutex::default() }
    }

    fn tell(&self, spans: usize, error: &impl Display) {
        let mut dropped = self.dropped.lock().expect("nothing here panics");
        if let Some(spans) = dropped.more(spans, Instant::now()) {
            tracing::warn!(spans, "spans could not be sent and are dropped: {error}");
        }
    }
}

impl<E: SpanExporter> SpanExporter for Told<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.exporter.export(batch).await.inspect_err(|error| self.tell(spans, error))
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_summed_up_once_a_minute() {
        let (mut dropped, start) = (Dropped::default(), Instant::now());
        assert_eq!(dropped.more(3, start), Some(3));
        for second in 1..60 {
            assert_eq!(dropped.more(2, start + Duration::from_secs(second)), None);
        }
        assert_eq!(dropped.more(1, start + APART), Some(119));
    }
}
