//! The kind `process_pool`: a program that is started once and asked many times.
//!
//! The operator names pools, each a program with its arguments. Its processes read a JSON object a line and answer each
//! with one. They are the operator's, and still not trusted to end, to answer, or to answer what they were asked.

mod child; // one process, as long as it lives
mod lines; // lines out of bytes, none of them too long
mod pool; // all processes of a pool: which one is asked, and when one is begun anew
mod protocol; // what is said to a process, and what it may answer

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{KindError, shown};
use crate::files::FilesRoot;
use crate::secret::{Masker, Secret};
use pool::Pool;

/// The payload: which pool is asked, and what.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessPool {
    /// One of the pools that the operator has set up.
    pub pool: String,
    /// What the process gets, as it stands here. Default: null.
    #[serde(default)]
    #[schemars(with = "Value")]
    pub payload: Option<Box<RawValue>>,
}

/// A program that is kept running.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// The program, by its absolute path, and its arguments.
    pub argv: Vec<String>,
    /// Variables of its environment, besides `PATH` and `LANG`. Default: none.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How many processes there are at most, 1 to 1,000; each is started when it is first needed. Default 1.
    #[serde(default = "one")]
    pub size: usize,
    /// How many jobs one process has at a time, 1 to 1,000. With more than one, a cancel or a timeout of one costs the others
    /// their attempt. Default 1.
    #[serde(default = "one")]
    pub concurrency: usize,
    /// The longest line either way, in bytes, 1,000 to 64 MiB. Default 1 MiB.
    #[serde(default = "line_bytes")]
    pub line_bytes: usize,
}

/// Without what its variables say.
impl std::fmt::Debug for PoolConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolConfig")
            .field("argv", &self.argv)
            .field("env", &self.env.keys())
            .field("size", &self.size)
            .field("concurrency", &self.concurrency)
            .field("line_bytes", &self.line_bytes)
            .finish()
    }
}

fn one() -> usize {
    1
}

fn line_bytes() -> usize {
    1 << 20
}

impl PoolConfig {
    /// A pool of one process.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> PoolConfig {
        PoolConfig {
            argv: argv.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            size: one(),
            concurrency: one(),
            line_bytes: line_bytes(),
        }
    }

    /// Looks whether it makes sense; starts nothing.
    ///
    /// # Errors
    /// A sentence that begins with the name of the setting.
    pub fn check(&self) -> Result<(), String> {
        match self.argv.first() {
            None => return Err("argv is empty; it begins with the program".to_owned()),
            Some(program) if !Path::new(program).is_absolute() => {
                return Err(format!("argv begins with `{program}`; write the whole path"));
            }
            Some(_) => {}
        }
        if self.argv.iter().chain(self.env.values()).any(|text| text.contains('\0')) {
            return Err("argv or env has a NUL, which no program can be given".to_owned());
        }
        if let Some(name) =
            self.env.keys().find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            return Err(format!("env has `{}`, which is no name of a variable", shown(name)));
        }
        for (name, value, (least, most)) in [
            ("size", self.size, (1, 1_000)),
            ("concurrency", self.concurrency, (1, 1_000)),
            ("line_bytes", self.line_bytes, (1_000, 64 << 20)),
        ] {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} is {value}, it must be from {least} to {most}"));
            }
        }
        Ok(())
    }
}

/// Where a job's process says something besides its answer.
pub type Said = Arc<dyn Fn(&str) + Send + Sync>;

/// Every pool of this node. Dropped, it tells the processes to end, and kills those that do not within a second.
pub struct Pools {
    pools: BTreeMap<String, Pool>,
}

impl std::fmt::Debug for Pools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.pools.keys()).finish()
    }
}

impl Pools {
    /// Starts no process yet. They begin in the files folder. `secrets` are masked in whatever they say.
    pub fn new(
        pools: &BTreeMap<String, PoolConfig>,
        root: &Arc<FilesRoot>,
        secrets: &[Secret],
    ) -> Pools {
        let pool = |(name, config): (&String, &PoolConfig)| {
            let masker = Masker::new(secrets.iter().map(Secret::reveal))
                .with_variables(config.env.iter().map(|(name, value)| (&**name, &**value)));
            (name.clone(), Pool::new(config.clone(), Arc::clone(root), masker))
        };
        Pools { pools: pools.iter().map(pool).collect() }
    }

    /// Does the work of one `process_pool` job of this id. Dropped, it kills the process that has the job.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field; [`KindError::Process`] for what the process said or
    /// did.
    pub async fn run(
        &self,
        job: &ProcessPool,
        id: &str,
        said: Said,
    ) -> Result<Box<RawValue>, KindError> {
        let Some(pool) = self.pools.get(&job.pool) else {
            let problem = format!("is `{}`, which this node does not have", shown(&job.pool));
            return Err(KindError::payload("pool", problem));
        };
        let line = protocol::request(id, job.payload.as_deref(), pool.line_bytes())?;
        pool.ask(id, line, said).await
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        pool::end_all(self.pools.values());
    }
}
