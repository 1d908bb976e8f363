//! What a process counts, and how it is told.
//!
//! Recording costs a look at a table and some additions: no lock that anybody waits for, nothing allocated once
//! a pair of kind and queue was seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

use super::cells::{Counter, Histogram};
use super::families::{self as f, Family};
use super::gauges::{Gauges, Inner as GaugesInner};
use super::outcome::RunOutcome;
use super::text::Page;
use crate::store::{Remote, Rescued, Traffic};

/// No metric has more label sets than this: 125 pairs of kind and queue, with each outcome, or routes.
const MOST_SERIES: usize = 1_000;
const MOST_PAIRS: usize = MOST_SERIES / RunOutcome::ALL.len();
/// What is beyond, or nobody named, goes by this.
const OTHER: &str = "other";
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The metrics of the clients and workers on one database in this process. Cheap to clone.
///
/// Kinds and queues are labels only if a worker of this process serves them or
/// [`Metrics::name_kinds`] and [`Metrics::name_queues`] named them; all others are counted as `other`.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Default)]
struct Inner {
    names: RwLock<Names>,
    pairs: RwLock<Pairs>,
    /// For pairs above the limit.
    beyond: Arc<Pair>,
    rescued: [Counter; 3],
    rescued_nodes: Counter,
    lost_leases: Counter,
    lost: Counter,
    pruned: Counter,
    http: RwLock<HashMap<String, Arc<Route>>>,
    workers: Mutex<Vec<Weak<GaugesInner>>>,
}

#[derive(Default)]
struct Names {
    kinds: HashSet<String>,
    queues: HashSet<String>,
}

#[derive(Default)]
struct Pairs {
    /// By kind, then by queue.
    cells: HashMap<String, HashMap<String, Arc<Pair>>>,
    count: usize,
}

/// What is counted of one kind in one queue.
#[derive(Default)]
pub(crate) struct Pair {
    enqueued: Counter,
    claimed: Counter,
    finished: [Counter; RunOutcome::ALL.len()],
    run: Histogram,
    wait: Histogram,
}

/// What is counted of one route: by method, by class of status.
#[derive(Default)]
struct Route([[Histogram; CLASSES.len()]; METHODS.len() + 1]);

impl Pair {
    pub fn enqueued(&self, jobs: u64) {
        self.enqueued.add(jobs);
    }

    /// `wait`: since it was due, if that is known.
    pub fn claimed(&self, wait: Option<Duration>) {
        self.claimed.add(1);
        if let Some(wait) = wait {
            self.wait.observe(wait);
        }
    }

    pub fn ran(&self, took: Duration) {
        self.run.observe(took);
    }

    pub fn finished(&self, outcome: RunOutcome) {
        self.finished[outcome as usize].add(1);
    }
}

impl Metrics {
    /// All metrics there are, in the order in which they are written.
    pub fn families() -> &'static [&'static Family] {
        f::ALL
    }

    /// Kinds that this process enqueues without running them, to be told apart.
    pub fn name_kinds<S: Into<String>>(&self, kinds: impl IntoIterator<Item = S>) {
        let mut names = self.0.names.write().expect("nothing here panics");
        names.kinds.extend(kinds.into_iter().map(Into::into));
    }

    /// The same for queues.
    pub fn name_queues<S: Into<String>>(&self, queues: impl IntoIterator<Item = S>) {
        let mut names = self.0.names.write().expect("nothing here panics");
        names.queues.extend(queues.into_iter().map(Into::into));
    }

    /// Kinds and queues of a worker elsewhere, as long as there are few: anybody may join as anything.
    pub(crate) fn name_remote(&self, remote: &Remote) {
        let known = |names: &Names| {
            remote.kinds.iter().all(|ask| names.kinds.contains(&ask.kind))
                && remote.queues.iter().all(|(queue, _)| names.queues.contains(queue))
        };
        if known(&self.0.names.read().expect("nothing here panics")) {
            return;
        }
        let mut names = self.0.names.write().expect("nothing here panics");
        let Names { kinds, queues } = &mut *names;
        let room = MOST_SERIES.saturating_sub(kinds.len());
        kinds.extend(remote.kinds.iter().map(|ask| ask.kind.clone()).take(room));
        let room = MOST_SERIES.saturating_sub(queues.len());
        queues.extend(remote.queues.iter().map(|(queue, _)| queue.clone()).take(room));
    }

    /// That an HTTP request was answered. `route` is the pattern, never the path: a path would be a label without
    /// bound.
    pub fn http_answered(&self, route: Option<&str>, method: &str, status: u16, took: Duration) {
        let route = self.route(route.unwrap_or(OTHER));
        let method = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len());
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        route.0[method][class].observe(took);
    }

    fn route(&self, pattern: &str) -> Arc<Route> {
        let known = |routes: &HashMap<String, Arc<Route>>| routes.get(pattern).cloned();
        if let Some(route) = known(&self.0.http.read().expect("nothing here panics")) {
            return route;
        }
        let mut routes = self.0.http.write().expect("nothing here panics");
        let most = MOST_SERIES / (METHODS.len() + 1) / CLASSES.len();
        let name = if routes.len() + 1 < most { pattern } else { OTHER };
        Arc::clone(routes.entry(name.to_owned()).or_default())
    }

    /// Where a job of this kind in this queue is counted.
    pub(crate) fn pair(&self, kind: &str, queue: &str) -> Arc<Pair> {
        if let Some(pair) = self.find(kind, queue) {
            return pair;
        }
        let (kind, queue) = {
            let names = self.0.names.read().expect("nothing here panics");
            let kind = if names.kinds.contains(kind) { kind } else { OTHER };
            let queue = if names.queues.contains(queue) { queue } else { OTHER };
            (kind, queue)
        };
        if let Some(pair) = self.find(kind, queue) {
            return pair;
        }
        let mut pairs = self.0.pairs.write().expect("nothing here panics");
        let known = pairs.cells.get(kind).and_then(|queues| queues.get(queue));
        if let Some(pair) = known {
            return Arc::clone(pair);
        }
        // One is left for those beyond.
        if pairs.count + 1 >= MOST_PAIRS {
            return Arc::clone(&self.0.beyond);
        }
        pairs.count += 1;
        // Both counted as `other`: the same numbers as those beyond, for they have the same labels.
        let pair = if (kind, queue) == (OTHER, OTHER) {
            Arc::clone(&self.0.beyond)
        } else {
            Arc::default()
        };
        let queues = pairs.cells.entry(kind.to_owned()).or_default();
        queues.insert(queue.to_owned(), Arc::clone(&pair));
        pair
    }

    fn find(&self, kind: &str, queue: &str) -> Option<Arc<Pair>> {
        let pairs = self.0.pairs.read().expect("nothing here panics");
        pairs.cells.get(kind)?.get(queue).cloned()
    }

    /// The numbers of a worker that is about to start, told with those of the process while it lives.
    pub(crate) fn worker(&self, slots: Vec<(String, u32)>, kinds: Vec<String>) -> Gauges {
        self.name_kinds(kinds);
        self.name_queues(slots.iter().map(|(queue, _)| queue.clone()));
        let gauges = Gauges::new(self.clone(), slots);
        let mut workers = self.0.workers.lock().expect("nothing here panics");
        workers.retain(|worker| worker.strong_count() > 0);
        workers.push(gauges.downgrade());
        gauges
    }

    pub(crate) fn lost_lease(&self) {
        self.0.lost_leases.add(1);
    }

    pub(super) fn lost(&self) {
        self.0.lost.add(1);
    }

    pub(super) fn pruned(&self, jobs: u64) {
        self.0.pruned.add(jobs);
    }

    pub(crate) fn rescued(&self, rescued: &Rescued) {
        let Rescued { nodes, queued, dead, cancelled } = rescued;
        for (counter, jobs) in self.0.rescued.iter().zip([queued, dead, cancelled]) {
            counter.add(jobs.len() as u64);
        }
        self.0.rescued_nodes.add(nodes.len() as u64);
    }

    /// What this process knows by itself.
    pub(super) fn write(&self, page: &mut Page, traffic: &Traffic) {
        page.of(&f::BUILD).sample(&[env!("CARGO_PKG_VERSION")], 1);
        self.write_jobs(page);
        self.write_workers(page);
        write_traffic(page, traffic);
    }

    fn write_jobs(&self, page: &mut Page) {
        let mut sorted: BTreeMap<(String, String), Arc<Pair>> = BTreeMap::new();
        for (kind, queues) in &self.0.pairs.read().expect("nothing here panics").cells {
            for (queue, pair) in queues {
                sorted.insert((kind.clone(), queue.clone()), Arc::clone(pair));
            }
        }
        sorted.insert((OTHER.into(), OTHER.into()), Arc::clone(&self.0.beyond));
        let all: Vec<([&str; 2], &Pair)> =
            sorted.iter().map(|((kind, queue), pair)| ([kind.as_str(), queue], &**pair)).collect();
        let mut samples = page.of(&f::ENQUEUED);
        all.iter().for_each(|(labels, pair)| samples.sample(labels, pair.enqueued.get()));
        let mut samples = page.of(&f::CLAIMED);
        all.iter().for_each(|(labels, pair)| samples.sample(labels, pair.claimed.get()));
        let mut samples = page.of(&f::FINISHED);
        for ([kind, queue], pair) in &all {
            for outcome in RunOutcome::ALL {
                let count = pair.finished[outcome as usize].get();
                samples.sample(&[kind, queue, outcome.as_str()], count);
            }
        }
        let mut samples = page.of(&f::RUN);
        all.iter().for_each(|(labels, pair)| samples.histogram(labels, &pair.run.snapshot()));
        let mut samples = page.of(&f::WAIT);
        all.iter().for_each(|(labels, pair)| samples.histogram(labels, &pair.wait.snapshot()));
    }

    fn write_workers(&self, page: &mut Page) {
        let workers: Vec<Arc<GaugesInner>> = {
            let workers = self.0.workers.lock().expect("nothing here panics");
            workers.iter().filter_map(Weak::upgrade).collect()
        };
        let sum =
            |of: fn(&GaugesInner) -> u64| workers.iter().map(|worker| of(worker)).sum::<u64>();
        page.of(&f::RUNNING).sample(&[], sum(|worker| worker.health().running));
        page.of(&f::READY).sample(&[], sum(|worker| worker.health().waiting));
        page.of(&f::UNWRITTEN).sample(&[], sum(|worker| worker.health().unwritten));
        page.of(&f::STUCK).sample(&[], sum(|worker| worker.health().stuck));
        let mut slots: BTreeMap<&str, u64> = BTreeMap::new();
        for (queue, count) in workers.iter().flat_map(|worker| worker.slots()) {
            *slots.entry(queue).or_default() += u64::from(*count);
        }
        let mut samples = page.of(&f::SLOTS);
        slots.iter().take(MOST_SERIES).for_each(|(queue, count)| samples.sample(&[queue], count));
        let mut samples = page.of(&f::RESCUED);
        for (state, counter) in ["queued", "dead", "cancelled"].iter().zip(&self.0.rescued) {
            samples.sample(&[state], counter.get());
        }
        page.of(&f::RESCUED_NODES).sample(&[], self.0.rescued_nodes.get());
        page.of(&f::LOST_LEASES).sample(&[], self.0.lost_leases.get());
        page.of(&f::LOST).sample(&[], self.0.lost.get());
        if let Some(age) = workers.iter().filter_map(|worker| worker.heartbeat_age()).max() {
            page.of(&f::HEARTBEAT_AGE).sample(&[], age.as_secs_f64());
        }
        if !workers.is_empty() {
            let ready = workers.iter().all(|worker| worker.health().ready);
            page.of(&f::WORKER_READY).sample(&[], u8::from(ready));
        }
        let leads = workers.iter().any(|worker| worker.leads());
        page.of(&f::LEADER).sample(&[], u8::from(leads));
        if let Some(ms) = workers.iter().filter_map(|worker| worker.health().prune_lag_ms).max() {
            page.of(&f::PRUNE_LAG).sample(&[], ms as f64 / 1e3);
        }
        page.of(&f::PRUNED).sample(&[], self.0.pruned.get());
        if let Some(bytes) = workers.iter().filter_map(|w| w.health().side_file_bytes).max() {
            page.of(&f::SIDE_FILE).sample(&[], bytes);
        }
    }

    pub(super) fn write_http(&self, page: &mut Page) {
        let routes = self.0.http.read().expect("nothing here panics");
        let mut sorted: Vec<(&String, &Arc<Route>)> = routes.iter().collect();
        sorted.sort_unstable_by_key(|(route, _)| *route);
        let mut samples = page.of(&f::HTTP);
        for (route, cells) in sorted {
            let methods = METHODS.iter().chain(std::iter::once(&OTHER));
            for (method, classes) in methods.zip(&cells.0) {
                for (class, histogram) in CLASSES.iter().zip(classes) {
                    let snapshot = histogram.snapshot();
                    // Most routes have one method, and most methods two classes.
                    if snapshot.buckets.last().is_some_and(|all| *all > 0) {
                        samples.histogram(&[route, method, class], &snapshot);
                    }
                }
            }
        }
    }
}

fn write_traffic(page: &mut Page, traffic: &Traffic) {
    let mut samples = page.of(&f::POOL);
    for pool in &traffic.pools {
        samples.sample(&[pool.name, "idle"], pool.idle);
        samples.sample(&[pool.name, "used"], pool.open.saturating_sub(pool.idle));
    }
    let mut samples = page.of(&f::POOL_MOST);
    traffic.pools.iter().for_each(|pool| samples.sample(&[pool.name], pool.most));
    page.of(&f::ROUND_TRIPS).sample(&[], traffic.round_trips);
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(metrics: &Metrics) -> String {
        let mut page = Page::default();
        metrics.write(&mut page, &Traffic::default());
        metrics.write_http(&mut page);
        page.finish()
    }

    #[test]
    fn names_that_nobody_gave_are_no_labels() {
        let metrics = Metrics::default();
        metrics.name_kinds(["known"]);
        metrics.name_queues(["mail"]);
        metrics.pair("known", "mail").enqueued(2);
        metrics.pair("known", "strange").enqueued(3);
        for n in 0..10_000 {
            metrics.pair(&format!("strange {n}"), &format!("queue {n}")).enqueued(1);
        }
        let text = text(&metrics);
        for line in [
            "longshore_jobs_enqueued_total{kind=\"known\",queue=\"mail\"} 2\n",
            "longshore_jobs_enqueued_total{kind=\"known\",queue=\"other\"} 3\n",
            "longshore_jobs_enqueued_total{kind=\"other\",queue=\"other\"} 10000\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(!text.contains("strange"), "{text}");
    }

    #[test]
    fn no_metric_has_more_than_a_thousand_label_sets() {
        let metrics = Metrics::default();
        let names: Vec<String> = (0..2_000).map(|n| format!("k{n}")).collect();
        metrics.name_kinds(names.clone());
        metrics.name_queues(["q"]);
        for name in &names {
            metrics.pair(name, "q").claimed(None);
            metrics.http_answered(Some(&format!("/{name}")), "GET", 200, Duration::ZERO);
        }
        let text = text(&metrics);
        for family in Metrics::families() {
            let name = match family.shape {
                f::Shape::Histogram => format!("{}_count", family.name),
                f::Shape::Counter | f::Shape::Gauge => family.name.to_owned(),
            };
            let sets = text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count();
            assert!(sets <= MOST_SERIES, "{name} has {sets}");
        }
        let of = |line: &str| {
            let (_, number) = line.rsplit_once(' ').expect("a number");
            number.parse::<u64>().expect("a number")
        };
        let claims = text.lines().filter(|line| line.starts_with("longshore_jobs_claimed_total{"));
        assert_eq!(claims.map(of).sum::<u64>(), 2_000, "nothing is lost beyond the limit");
    }

    #[test]
    fn answers_are_told_apart_by_route_method_and_class() {
        let metrics = Metrics::default();
        metrics.http_answered(Some("/jobs/{id}"), "GET", 404, Duration::from_millis(1));
        metrics.http_answered(None, "BREW", 418, Duration::from_millis(1));
        let text = text(&metrics);
        for labels in [
            "{route=\"/jobs/{id}\",method=\"GET\",status=\"4xx\"}",
            "{route=\"other\",method=\"other\",status=\"4xx\"}",
        ] {
            assert!(text.contains(&format!("longshore_http_request_seconds_count{labels} 1\n")));
        }
    }
}
