//! The text format of Prometheus, 0.0.4.

use std::fmt::{Display, Write};

use super::cells::{BOUNDS, Snapshot};
use super::families::Family;

/// A page of metrics while it is written.
#[derive(Default)]
pub(super) struct Page(String);

/// The samples of one metric. What stands above them is written with the first.
pub(super) struct Samples<'a> {
    page: &'a mut String,
    family: &'static Family,
    begun: bool,
}

impl Page {
    pub fn of(&mut self, family: &'static Family) -> Samples<'_> {
        Samples { page: &mut self.0, family, begun: false }
    }

    pub fn finish(self) -> String {
        self.0
    }
}

impl Samples<'_> {
    /// One number; `labels` are the values of the metric's labels, in their order.
    pub fn sample(&mut self, labels: &[&str], value: impl Display) {
        self.line("", labels, None, value);
    }

    pub fn histogram(&mut self, labels: &[&str], snapshot: &Snapshot) {
        for (n, count) in snapshot.buckets.iter().enumerate() {
            let bound =
                BOUNDS.get(n).map_or("+Inf".to_owned(), |at| (*at as f64 / 1e6).to_string());
            self.line("_bucket", labels, Some(&bound), count);
        }
        self.line("_sum", labels, None, snapshot.seconds);
        self.line("_count", labels, None, snapshot.buckets[BOUNDS.len()]);
    }

    fn line(&mut self, suffix: &str, values: &[&str], le: Option<&str>, value: impl Display) {
        let Family { name, shape, labels, help } = self.family;
        debug_assert_eq!(labels.len(), values.len(), "{name}");
        if !self.begun {
            self.begun = true;
            *self.page += &format!("# HELP {name} {help}\n# TYPE {name} {shape}\n");
        }
        self.page.push_str(name);
        self.page.push_str(suffix);
        let named = labels.iter().copied().zip(values.iter().copied());
        for (n, (label, value)) in named.chain(le.map(|le| ("le", le))).enumerate() {
            self.page.push(if n == 0 { '{' } else { ',' });
            self.page.push_str(label);
            self.page.push_str("=\"");
            escape(self.page, value);
            self.page.push('"');
        }
        if !values.is_empty() || le.is_some() {
            self.page.push('}');
        }
        writeln!(self.page, " {value}").expect("a text takes it");
    }
}

fn escape(page: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => page.push_str("\\\\"),
            '"' => page.push_str("\\\""),
            '\n' => page.push_str("\\n"),
            c => page.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::cells::Histogram;
    use super::super::families;
    use super::*;

    #[test]
    fn a_page_is_written_as_the_format_says() {
        let mut page = Page::default();
        page.of(&families::READY).sample(&[], 3);
        page.of(&families::SLOTS).sample(&["a \"b\" \\ c"], 1);
        assert_eq!(
            page.finish(),
            "# HELP longshore_jobs_ready Jobs claimed by this process and not started yet.\n\
             # TYPE longshore_jobs_ready gauge\n\
             longshore_jobs_ready 3\n\
             # HELP longshore_slots How many jobs of a queue this process may run at once.\n\
             # TYPE longshore_slots gauge\n\
             longshore_slots{queue=\"a \\\"b\\\" \\\\ c\"} 1\n"
        );
    }

    #[test]
    fn a_histogram_has_its_buckets_its_sum_and_its_count() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(20));
        histogram.observe(Duration::from_secs(7_200));
        let mut page = Page::default();
        page.of(&families::RUN).histogram(&["k", "q"], &histogram.snapshot());
        let page = page.finish();
        let of = |le: &str| {
            let line =
                format!("longshore_job_run_seconds_bucket{{kind=\"k\",queue=\"q\",le=\"{le}\"}} ");
            let (_, rest) = page.split_once(&line).unwrap_or_else(|| panic!("{line} in\n{page}"));
            rest.lines().next().expect("a number").to_owned()
        };
        assert_eq!([of("0.01"), of("0.025"), of("3600"), of("+Inf")], ["0", "1", "1", "2"]);
        assert!(page.contains("_sum{kind=\"k\",queue=\"q\"} 7200.02\n"), "{page}");
        assert!(page.ends_with("_count{kind=\"k\",queue=\"q\"} 2\n"), "{page}");
        assert_eq!(page.matches("# TYPE").count(), 1);
    }
}
