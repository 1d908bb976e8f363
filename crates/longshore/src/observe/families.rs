//! The catalogue: every metric there is, with its labels. Nothing else names one.

use std::fmt;

/// What a metric's numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Only rises; begins at 0 with the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many took how long: cumulative buckets, a sum and a count.
    Histogram,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shape::Counter => "counter",
            Shape::Gauge => "gauge",
            Shape::Histogram => "histogram",
        })
    }
}

/// A metric. Its unit is the end of its name; without one it counts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What its numbers do.
    pub shape: Shape,
    /// Its labels; each has a bounded number of values.
    pub labels: &'static [&'static str],
    /// What it tells, in a sentence.
    pub help: &'static str,
}

macro_rules! families {
    ($($id:ident $shape:ident $name:literal [$($label:literal)*] $help:literal)*) => {
        $(pub(super) static $id: Family = Family {
            name: $name, shape: Shape::$shape, labels: &[$($label),*], help: $help,
        };)*

        /// All of them, in the order in which they are written.
        pub(super) static ALL: &[&Family] = &[$(&$id),*];
    };
}

families! {
    BUILD Gauge "longshore_build_info" ["version"]
        "Always 1; the label says which version runs."
    ENQUEUED Counter "longshore_jobs_enqueued_total" ["kind" "queue"]
        "Jobs added by this process; in a caller's transaction also those that roll back."
    CLAIMED Counter "longshore_jobs_claimed_total" ["kind" "queue"]
        "Jobs claimed by this process."
    FINISHED Counter "longshore_jobs_finished_total" ["kind" "queue" "outcome"]
        "Runs whose end is written."
    RUN Histogram "longshore_job_run_seconds" ["kind" "queue"]
        "How long handlers ran, also those that failed or ran into their timeout."
    WAIT Histogram "longshore_job_wait_seconds" ["kind" "queue"]
        "From when a job was due until it was claimed, by the database's clock."
    RUNNING Gauge "longshore_jobs_running" []
        "Handlers that run in this process."
    READY Gauge "longshore_jobs_ready" []
        "Jobs claimed by this process and not started yet."
    UNWRITTEN Gauge "longshore_results_unwritten" []
        "Results of this process that are not written yet."
    STUCK Gauge "longshore_handlers_stuck" []
        "Handlers that were cut off and whose code still holds a thread."
    SLOTS Gauge "longshore_slots" ["queue"]
        "How many jobs of a queue this process may run at once."
    RESCUED Counter "longshore_rescued_jobs_total" ["state"]
        "Jobs of lost nodes that this process gave away, by what they are now."
    RESCUED_NODES Counter "longshore_rescued_nodes_total" []
        "Nodes that this process found lost."
    LOST_LEASES Counter "longshore_lost_leases_total" []
        "Results refused because the lease was lost; their jobs run elsewhere."
    LOST Counter "longshore_node_lost_total" []
        "Times that a worker of this process was declared lost and joined anew."
    HEARTBEAT_AGE Gauge "longshore_heartbeat_age_seconds" []
        "Since the sending of the last heartbeat that was answered; of several workers, the oldest."
    WORKER_READY Gauge "longshore_worker_ready" []
        "1 if the worker claims and finishes as it should; of several, 0 if one does not."
    LEADER Gauge "longshore_leader" []
        "1 if this process leads."
    PRUNE_LAG Gauge "longshore_prune_lag_seconds" []
        "How far the leader's pruning is behind. Only the leader tells."
    PRUNED Counter "longshore_pruned_jobs_total" []
        "Ended jobs that this process removed as the leader."
    SIDE_FILE Gauge "longshore_side_file_bytes" []
        "Size of SQLite's side file (-wal), as upkeep saw it last."
    POOL Gauge "longshore_pool_connections" ["pool" "state"]
        "Connections to the database that are idle or in use."
    POOL_MOST Gauge "longshore_pool_connections_max" ["pool"]
        "How many connections a pool may have."
    ROUND_TRIPS Counter "longshore_database_round_trips_total" []
        "Statements sent to PostgreSQL, BEGIN and COMMIT too; transactions and reads on SQLite."
    UP Gauge "longshore_database_up" []
        "1 if the database answered when it was asked for what follows."
    SCHEMA Gauge "longshore_schema_version" []
        "The schema's version."
    DEPTH Gauge "longshore_queue_depth" ["queue"]
        "Jobs that are due and wait, in the whole database; counted up to 10,000 every 5 s."
    CAPPED Gauge "longshore_queue_depth_capped" ["queue"]
        "1 if the count stopped: there are at least as many as it says."
    OLDEST Gauge "longshore_queue_oldest_age_seconds" ["queue"]
        "How long the oldest of these has been due; 0 if none waits."
    COUNTED Gauge "longshore_queues_counted_age_seconds" []
        "How old these counts are. Beyond 30 s nobody leads."
    HTTP Histogram "longshore_http_request_seconds" ["route" "method" "status"]
        "How long answers over HTTP took, by pattern of the route and class of the status."
}
