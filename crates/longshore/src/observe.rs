//! What a process tells about itself. Reading only: no job needs it to run.

mod cells; // numbers that many add to
mod families; // the catalogue of metrics
mod gauges; // how a worker is, right now
mod metrics; // what is counted
mod outcome; // how a run ended
mod text; // the format of Prometheus

pub use families::{Family, Shape};
pub use gauges::Health;
pub(crate) use gauges::{Gauges, Load};
pub use metrics::Metrics;
pub(crate) use metrics::Pair;
pub(crate) use outcome::RunOutcome;

use crate::store::{QueueCount, Traffic};

/// What a page of metrics tells beside the process's own numbers.
pub(crate) struct Seen {
    pub traffic: Traffic,
    /// What the database said; `None` if it did not answer.
    pub database: Option<Database>,
}

pub(crate) struct Database {
    pub schema: u32,
    pub queues: Vec<QueueCount>,
}

impl Metrics {
    /// The whole page.
    pub(crate) fn text(&self, seen: &Seen) -> String {
        use families as f;
        let mut page = text::Page::default();
        self.write(&mut page, &seen.traffic);
        page.of(&f::UP).sample(&[], u8::from(seen.database.is_some()));
        if let Some(Database { schema, queues }) = &seen.database {
            page.of(&f::SCHEMA).sample(&[], schema);
            let mut samples = page.of(&f::DEPTH);
            queues.iter().for_each(|one| samples.sample(&[&one.queue], one.depth));
            let mut samples = page.of(&f::CAPPED);
            queues.iter().for_each(|one| samples.sample(&[&one.queue], u8::from(one.capped)));
            let mut samples = page.of(&f::OLDEST);
            queues
                .iter()
                .for_each(|one| samples.sample(&[&one.queue], one.oldest_for.as_secs_f64()));
            if let Some(age) = queues.iter().map(|one| one.counted_for).max() {
                page.of(&f::COUNTED).sample(&[], age.as_secs_f64());
            }
        }
        self.write_http(&mut page);
        page.finish()
    }
}
