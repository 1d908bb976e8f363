//! Claims jobs, runs them, writes how they ended.

mod book;
mod claimer;
mod commit;
mod config;
mod decoders;
mod endings;
mod heartbeat;
mod hooks;
mod ledger;
pub(crate) mod marks;
mod node;
#[cfg(feature = "testing")]
pub(crate) mod once;
pub(crate) mod patience;
mod registry;
mod rest;
mod run;
mod runs;
mod scribe;
mod slots;
mod verdict;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_layer::Layer;

use crate::client::Client;
use crate::engine::within;
use crate::extract::{Given, States};
use crate::handler::{self, BlockingHandler, Call, Handler, Layered, RunService, Takes};
use crate::job::{IntoOutcome, Job};
use crate::observe::{Gauges, Health};
use crate::store::{KnownKind, NewNode, NodeId, Result, StoreError, Wish};
use crate::upkeep;
pub(crate) use book::Book;
pub use config::WorkerConfig;
pub use decoders::{Decoders, Fit};
pub(crate) use heartbeat::Beating;
use heartbeat::Heartbeat;
pub(crate) use hooks::Hooks;
pub use hooks::{Hook, RunReport};
use node::{Inputs, Node, Over};
use patience::Patience;
pub use registry::Failure;
use registry::Registry;
pub use run::{Run, StopReason};
use runs::{Known, Runs};
use slots::Slots;

/// No call of the store is waited for longer; its connection is dropped then.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long each farewell of a stopping node may take. Without them the others find out when the
/// lease runs out; a process manager that waits may not.
const PARTING: Duration = Duration::from_secs(2);

/// What the application asked of a running worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Serve,
    Stop,
    Force,
}

/// Serves queues with handlers: a *node* of the cluster, once it is started. Built up, then started.
///
/// ```no_run
/// # use longshore::{Client, Job, JobError, Worker};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct SendReceipt { order: u64 }
/// # impl Job for SendReceipt { const KIND: &'static str = "send_receipt"; type Output = (); }
/// # async fn send(_: SendReceipt) -> Result<(), JobError> { Ok(()) }
/// # async fn example() -> Result<(), longshore::StoreError> {
/// let client = Client::open("sqlite:jobs.db").await?;
/// client.migrate().await?;
/// let worker = Worker::new(client)
///     .queue("mail", 20)                                  // room for 20 jobs at a time, on this node
///     .queue("default", 5)
///     .job(send)                                          // a typed job
///     .handle("ping", |run: longshore::Run| async move {  // any kind, by its name
///         println!("{}", run.payload());
///     });
/// worker.run_until(tokio::signal::ctrl_c()).await
/// # }
/// ```
///
/// It claims only jobs of its queues whose kinds it has handlers for, in versions that these decode; others wait,
/// unharmed, for a node that knows them.
#[must_use = "a worker serves nothing until it is started"]
pub struct Worker {
    client: Client,
    config: WorkerConfig,
    queues: Vec<(String, u32)>,
    registry: Registry,
    states: States,
    layers: Vec<Around>,
    hooks: Vec<Box<dyn Hook>>,
}

/// Something to put around every handler.
type Around = Box<dyn Fn(Call) -> Call + Send + Sync>;

impl Worker {
    /// A worker on this client's database, with the default settings, no queue and no handler.
    pub fn new(client: Client) -> Worker {
        Worker {
            client,
            config: WorkerConfig::default(),
            queues: Vec::new(),
            registry: Registry::default(),
            states: States::default(),
            layers: Vec::new(),
            hooks: Vec::new(),
        }
    }

    /// Its settings, in place of [`WorkerConfig::default`]; checked by [`Worker::start`].
    pub fn config(mut self, config: WorkerConfig) -> Worker {
        self.config = config;
        self
    }

    /// Serves a queue, with room for so many running jobs on this node, 1 to 10,000. Said twice, the
    /// last counts.
    pub fn queue(mut self, queue: impl Into<String>, slots: u32) -> Worker {
        let queue = queue.into();
        self.queues.retain(|(name, _)| *name != queue);
        self.queues.push((queue, slots));
        self
    }

    /// Runs jobs of this kind with an async function. It must not block its thread; see
    /// [`Worker::handle_blocking`]. Jobs of kinds without a handler are left for others. Said twice,
    /// the last counts.
    pub fn handle<F, A>(mut self, kind: impl Into<String>, handler: F) -> Worker
    where
        F: Fn(Run) -> A + Send + Sync + 'static,
        A: Future<Output: IntoOutcome> + Send + 'static,
    {
        self.registry.add(kind.into(), registry::Handler::from_async(handler));
        self
    }

    /// Runs jobs of this kind with a function that may block: each on a thread of its own. When its
    /// time is over the slot is free again, but the thread only when the function returns.
    pub fn handle_blocking<F, O>(mut self, kind: impl Into<String>, handler: F) -> Worker
    where
        F: Fn(Run) -> O + Send + Sync + 'static,
        O: IntoOutcome,
    {
        self.registry.add(kind.into(), registry::Handler::from_blocking(handler));
        self
    }

    /// Runs jobs of the type that the function takes first; its further arguments are taken from the run
    /// ([`crate::extract`]). Two for one kind, or an argument that cannot be given, are refused by
    /// [`Worker::start`].
    ///
    /// ```
    /// # use longshore::{Client, Job, JobError, Worker, extract::{Attempt, State}};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct SendReceipt { order: u64 }
    /// # impl Job for SendReceipt { const KIND: &'static str = "send_receipt"; type Output = (); }
    /// # #[derive(Clone)] struct Smtp;
    /// async fn send(job: SendReceipt, State(smtp): State<Smtp>, attempt: Attempt) -> Result<(), JobError> {
    ///     Ok(())
    /// }
    /// # fn example(client: Client) {
    /// let worker = Worker::new(client).queue("mail", 20).state(Smtp).job(send);
    /// # }
    /// ```
    pub fn job<J, Args, H>(mut self, handler: H) -> Worker
    where
        J: Job,
        H: Takes<J, Args> + Handler<J, Args>,
    {
        let call = handler.into_call();
        self.registry.add_typed::<J>(registry::Handler::typed::<J>(call, false), H::check);
        self
    }

    /// The same with a function that may block: each run on a thread of its own. When its time is over the slot is
    /// free again, but the thread only when the function returns ([`Health::stuck`] counts those).
    pub fn job_blocking<J, Args, H>(mut self, handler: H) -> Worker
    where
        J: Job,
        H: Takes<J, Args> + BlockingHandler<J, Args>,
    {
        let call = handler.into_call();
        self.registry.add_typed::<J>(registry::Handler::typed::<J>(call, true), H::check);
        self
    }

    /// A value that handlers share, taken by its type as [`crate::extract::State`]. Given twice, the last
    /// counts.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Worker {
        self.states.add(value);
        self
    }

    /// Puts a `tower` layer around every handler, also those that are added later. The layer added last is
    /// the outermost. Its service is made once for each kind; its errors fail the attempt.
    pub fn layer<L>(mut self, layer: L) -> Worker
    where
        L: Layer<RunService, Service: Layered> + Send + Sync + 'static,
    {
        self.layers.push(Box::new(move |inner| handler::wrap(&layer, inner)));
        self
    }

    /// Tells a hook of all runs; any number of them.
    pub fn hook(mut self, hook: impl Hook) -> Worker {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Tells a function how each run ended, once that is written; see [`Hook::ended`].
    pub fn on_end<F>(self, told: F) -> Worker
    where
        F: Fn(&RunReport) + Send + Sync + 'static,
    {
        self.hook(hooks::OnEnd(told))
    }

    /// Asks a function how long jobs of this kind wait after an attempt that failed or panicked: the error
    /// may say so itself (a `Retry-After`, say). `None`, or a panic of the function: the job's own
    /// [`crate::Backoff`] holds, as it does after a timeout, or when the node is lost. It only sets the wait:
    /// after the last attempt it is not asked. Runs where the handler ran.
    pub fn backoff<F>(mut self, kind: impl Into<String>, backoff: F) -> Worker
    where
        F: Fn(&Failure<'_>) -> Option<Duration> + Send + Sync + 'static,
    {
        self.registry.add_backoff(kind.into(), Arc::new(backoff));
        self
    }

    /// Says what payloads of this kind look like, as a JSON Schema, for a handler by name; typed jobs say it themselves
    /// ([`Job::schema`]), and this in its place. Shown with the kind (`longshore kinds show`); nothing is checked by it. Without a
    /// handler for the kind it says nothing.
    pub fn schema(mut self, kind: impl Into<String>, schema: impl Into<String>) -> Worker {
        self.registry.add_schema(kind.into(), schema.into());
        self
    }

    /// What its handlers would make of jobs that wait. For a look before this program is rolled out: nothing is
    /// started.
    pub fn decoders(&self) -> Decoders {
        self.registry.decoders()
    }

    /// Starts serving; handlers run on the current tokio runtime. The database may be away: the
    /// worker waits for it. Fails only for what cannot work, with [`StoreError::Config`]: settings or queues (all
    /// faults named), no handler, two job types of one kind or arguments that were not given (all named), no tokio
    /// runtime.
    pub fn start(mut self) -> Result<Working> {
        self.config.check(&self.queues)?;
        self.finish_handlers()?;
        let on = Handle::try_current()
            .map_err(|_| StoreError::config("start the worker inside a tokio runtime"))?;
        let kinds = self.registry.kinds();
        let gauges = self.client.metrics().worker(self.queues.clone(), kinds);
        gauges.not_ready("joining");
        gauges.prune_lag(None);
        let (ask, asked) = watch::channel(Asked::Serve);
        let client = self.client.clone();
        let known = Known {
            registry: std::mem::take(&mut self.registry),
            states: Arc::new(std::mem::take(&mut self.states)),
            hooks: Hooks::start(std::mem::take(&mut self.hooks), &on),
            log_level: self.config.log_level,
            trace: self.config.trace,
        };
        let process =
            Process { worker: self, known, on, gauges: gauges.clone(), asked, wish: None };
        let task = client.engine().spawn(process.run());
        Ok(Working { task, ask, gauges })
    }

    /// Finds what handlers lack, and puts the layers around them.
    fn finish_handlers(&mut self) -> Result<()> {
        if self.registry.kinds().is_empty() {
            return Err(StoreError::config("no kind has a handler; add one with `handle`"));
        }
        let backend = self.client.store().backend();
        let faults = self.registry.faults(&Given { states: &self.states, backend });
        if !faults.is_empty() {
            return Err(StoreError::config(faults.join("; ")));
        }
        for layer in std::mem::take(&mut self.layers) {
            self.registry.wrap(layer);
        }
        Ok(())
    }

    /// What it can do, for a test that says when.
    #[cfg(feature = "testing")]
    pub(crate) fn into_hands(mut self) -> Result<once::Hands> {
        self.finish_handlers()?;
        Ok(once::Hands {
            client: self.client,
            queues: self.queues.into_iter().map(|(queue, _)| queue).collect(),
            registry: self.registry,
            states: Arc::new(self.states),
            hooks: Hooks::at_once(self.hooks),
            log_level: self.config.log_level,
        })
    }

    /// Starts serving, goes on until `stop` is ready, whatever it answers, and stops as [`Working::stop`] does. Returns
    /// as well when somebody asks this node to stop ([`Client::stop_node`]).
    ///
    /// ```no_run
    /// # async fn example(worker: longshore::Worker) -> Result<(), longshore::StoreError> {
    /// worker.run_until(tokio::signal::ctrl_c()).await
    /// # }
    /// ```
    pub async fn run_until(self, stop: impl Future) -> Result<()> {
        let mut working = self.start()?;
        tokio::select! {
            _ = stop => working.stop().await,
            () = working.stopped() => {}
        }
        Ok(())
    }
}

/// A worker that serves. Dropped without a stop, it goes on until the process ends; what runs then is rescued by
/// others when the lease is over.
#[derive(Debug)]
pub struct Working {
    task: JoinHandle<()>,
    ask: watch::Sender<Asked>,
    gauges: Gauges,
}

impl Working {
    /// How it is, right now. Takes no time and asks no database.
    pub fn health(&self) -> Health {
        self.gauges.health()
    }

    /// Asks it to stop: it claims nothing more, lets running jobs go on for `drain_for`, tells their
    /// handlers to stop, and gives back what is left. Returns at once; see [`Working::stopped`].
    pub fn ask_stop(&self) {
        self.ask.send_if_modified(|asked| {
            let first = *asked == Asked::Serve;
            if first {
                *asked = Asked::Stop;
            }
            first
        });
    }

    /// Asks it to stop without waiting for running jobs: they are given back at once.
    pub fn force_stop(&self) {
        self.ask.send_replace(Asked::Force);
    }

    /// Waits until it has stopped: it was asked to, here or by [`Client::stop_node`].
    pub async fn stopped(&mut self) {
        if let Err(error) = (&mut self.task).await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }

    /// Asks it to stop and waits until it has: at most `drain_for` and 5 s while the database answers, 4 s more if
    /// it does not.
    pub async fn stop(mut self) {
        self.ask_stop();
        self.stopped().await;
    }
}

/// One process, through all its incarnations.
struct Process {
    worker: Worker,
    known: Known,
    on: Handle,
    gauges: Gauges,
    asked: watch::Receiver<Asked>,
    /// What was asked of it from elsewhere; it holds when the process joins anew.
    wish: Option<Wish>,
}

impl Process {
    async fn run(mut self) {
        let store = Arc::clone(self.worker.client.store());
        let listening = self.worker.client.engine().spawn(async move { store.listen().await });
        while let Some((id, joined)) = self.join().await {
            if self.serve(id, joined).await == Over::Stopped {
                break;
            }
        }
        listening.abort();
    }

    /// Adds a fresh node's row, however long that takes; `None` if asked to stop before.
    async fn join(&mut self) -> Option<(NodeId, Instant)> {
        let mut patience = Patience::new("join as a node");
        loop {
            if *self.asked.borrow_and_update() != Asked::Serve {
                return None;
            }
            let node = NewNode {
                id: NodeId::new(),
                name: self.worker.config.name.clone(),
                version: self.worker.config.version.clone(),
                queues: self.worker.queues.clone(),
                kinds: self.known.registry.kinds(),
                lease_for: self.worker.config.lease_for,
                wish: self.wish,
                known: KnownKind::bounded(self.known.registry.known()),
                remote: None,
            };
            let sent = Instant::now();
            let store = self.worker.client.store();
            match within(CALL_LIMIT, "join as a node", store.join(&node)).await {
                Ok(()) => {
                    tracing::info!(node = %node.id, name = node.name, "joined");
                    return Some((node.id, sent));
                }
                Err(error) => {
                    self.gauges.not_ready(error.to_string());
                    let again_at = patience.failed(&error);
                    tokio::select! {
                        () = tokio::time::sleep_until(again_at.into()) => {}
                        () = node::changed(&mut self.asked) => {}
                    }
                }
            }
        }
    }

    /// One incarnation.
    async fn serve(&mut self, id: NodeId, joined: Instant) -> Over {
        let Worker { client, config, queues, .. } = &self.worker;
        let known = self.known.clone();
        let (runs, ends) = Runs::new(self.on.clone(), client.clone(), known, id);
        let scribe = client.engine().spawn(Arc::clone(runs.scribe()).run());
        let asks = self.known.registry.asks().into();
        let claimer = claimer::Claimer::new(id, asks, config.poll_every);
        let parts = (Slots::new(queues), runs, claimer);
        let mut node = Node::new(client.clone(), config.clone(), id, parts, self.gauges.clone());

        let first = Beating {
            sent: joined,
            lost: false,
            quiet_until: None,
            wish: self.wish,
            overdue: false,
        };
        let (tell, beating) = watch::channel(first);
        let heartbeat = Heartbeat {
            store: Arc::clone(client.store()),
            node: id,
            lease_for: config.lease_for,
            every: config.heartbeat_every,
            over: node.ledger.over(),
            state: node.state(),
        };
        client.engine().spawn(heartbeat.run(tell));
        let (end_upkeep, upkeep_ends) = watch::channel(false);
        let upkeep = config.upkeep.then(|| {
            let upkeep = upkeep::Upkeep {
                store: Arc::clone(client.store()),
                node: id,
                lease_for: config.lease_for,
                audit_for: config.audit_for,
                beating: beating.clone(),
                gauges: self.gauges.clone(),
                hooks: self.known.hooks.clone(),
            };
            client.engine().spawn(upkeep.run(upkeep_ends))
        });

        let woken = client.store().wakes().subscribe();
        let inputs = Inputs { ends, beating, asked: self.asked.clone(), woken };
        let wishes = inputs.beating.clone();
        let over = node.serve(inputs).await;
        self.wish = wishes.borrow().wish;
        scribe.abort();
        end_upkeep.send_replace(true);
        if over == Over::Stopped {
            if let Some(upkeep) = upkeep {
                // It gives up the lead if it has it. A call of it that hangs ends by itself.
                let _ = tokio::time::timeout(PARTING, upkeep).await;
            }
            let leave = within(PARTING, "leave", client.store().leave(id));
            match leave.await {
                Ok(()) => tracing::info!(node = %id, "left"),
                Err(error) => tracing::warn!(node = %id, "could not leave: {error}"),
            }
        }
        over
    }
}

impl std::fmt::Debug for Gauges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.health().fmt(f)
    }
}
