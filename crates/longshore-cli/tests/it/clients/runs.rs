//! What workers wrote of their runs: a JSON line for each that began, was told something, or ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

/// The file of one test.
pub struct Runs(pub PathBuf);

/// One run, as its handler saw it. In seconds since 1970.
#[derive(Clone, Debug)]
pub struct Seen {
    pub attempt: u64,
    pub pid: u64,
    pub began: f64,
    /// When the handler was over, or was told to stop; `None` if neither was seen.
    pub over: Option<f64>,
    /// What it was told.
    pub why: Option<String>,
}

impl Runs {
    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        // The last one may be half written.
        text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Each job's runs, in the order they began.
    pub fn by_job(&self) -> BTreeMap<String, Vec<Seen>> {
        let mut jobs: BTreeMap<String, Vec<Seen>> = BTreeMap::new();
        for line in self.lines() {
            let seen = jobs.entry(line["job"].as_str().expect("a job").to_owned()).or_default();
            let at = line["at"].as_f64().expect("a time");
            let (attempt, pid) = (line["attempt"].as_u64(), line["pid"].as_u64());
            let (attempt, pid) = (attempt.expect("an attempt"), pid.expect("a process"));
            if line["event"] == "began" {
                seen.push(Seen { attempt, pid, began: at, over: None, why: None });
                continue;
            }
            let run = seen.iter_mut().rfind(|run| (run.attempt, run.pid) == (attempt, pid));
            let run = run.expect("it began before");
            run.over = run.over.or(Some(at));
            run.why = run.why.take().or(line["why"].as_str().map(str::to_owned));
        }
        jobs
    }

    pub fn of(&self, job: &str) -> Vec<Seen> {
        self.by_job().remove(job).unwrap_or_default()
    }

    /// How many runs are over.
    pub fn over(&self) -> usize {
        self.by_job().values().flatten().filter(|run| run.over.is_some()).count()
    }
}
