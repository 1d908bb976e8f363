//! What an application brings: a name, handlers, and jobs to show them with.

use longshore::{NewJob, State, Worker};

use crate::settings::Settings;

/// Any error of the application's own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Register = dyn Fn(Worker, &Settings) -> Result<Worker, BoxError> + Send + Sync;
type MakeDemos = dyn Fn(&Settings) -> Result<Vec<Demo>, BoxError> + Send + Sync;

/// An application with a command line.
pub struct App {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) register: Box<Register>,
    pub(crate) demos: Box<MakeDemos>,
}

/// A job that `dev` runs to show what a worker does.
#[derive(Debug)]
pub struct Demo {
    /// What it shows, in a few words.
    pub shows: String,
    /// The job. `dev` puts it into a queue of its own.
    pub job: NewJob,
    /// How it is meant to end.
    pub ends: State,
    /// Puts its output into words; `None` shows it as it is.
    pub tell: fn(&str) -> Option<String>,
}

impl App {
    /// An application; `register` adds its handlers to a worker, for `serve` and `dev`. An error
    /// there is one of the settings: the command ends with exit code 2.
    pub fn new(
        name: &'static str,
        version: &'static str,
        register: impl Fn(Worker, &Settings) -> Result<Worker, BoxError> + Send + Sync + 'static,
    ) -> App {
        App { name, version, register: Box::new(register), demos: Box::new(|_| Ok(Vec::new())) }
    }

    /// Jobs that `dev` runs at its start.
    pub fn demos(
        mut self,
        demos: impl Fn(&Settings) -> Result<Vec<Demo>, BoxError> + Send + Sync + 'static,
    ) -> App {
        self.demos = Box::new(demos);
        self
    }

    /// Longshore's own: the built-in kinds.
    pub fn built_in() -> App {
        let version = env!("CARGO_PKG_VERSION");
        App::new("longshore", version, crate::commands::demo::register)
            .demos(crate::commands::demo::demos)
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("name", &self.name).field("version", &self.version).finish()
    }
}
