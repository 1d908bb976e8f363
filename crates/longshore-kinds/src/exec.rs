//! The kind `exec`: a program of this machine, run for a job.
//!
//! Payloads come from strangers, so nothing is run that the operator did not allow by its path. No shell looks at the
//! arguments, the program gets hardly any of our environment, and it begins in the files folder or below.

mod child; // the process and all that it started, until none of them is left

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{KindError, at_most, shown};
use crate::files::FilesRoot;
use crate::secret::{Masker, Secret};
use child::{Program, Tail};

/// Arguments, with the program.
pub const MAX_ARGUMENTS: usize = 256;
/// Bytes of all arguments together, and of all variables.
pub const MAX_ARGUMENT_BYTES: usize = 128 << 10;
/// So much of what a program said last stands in the error of one that failed.
const ERROR_BYTES: usize = 1_024;

/// The payload: what to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// The program, by the path that the operator allowed, and its arguments, as they are. 1 to [`MAX_ARGUMENTS`],
    /// [`MAX_ARGUMENT_BYTES`] together.
    #[schemars(length(min = 1, max = 256))]
    pub argv: Vec<String>,
    /// Variables of its environment; only such as the operator allowed. It has `PATH`, `LANG`, `LONGSHORE_JOB_ID` and
    /// `LONGSHORE_ATTEMPT` anyway, and nothing else of ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder it begins in, relative to the files folder, without `..`. Default: that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it reads. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
}

/// What `exec` jobs may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// Programs that may be run, by their absolute paths. Default: none, and then every job is refused.
    pub programs: Vec<PathBuf>,
    /// Names of variables that a payload may set. Default: none. With some (`LD_PRELOAD`) a stranger runs what he likes.
    pub variables: Vec<String>,
    /// Bytes that are kept of what a program writes last, for each of its two outputs. Default 64 KiB.
    pub output_bytes: usize,
    /// Texts that are masked in outputs and errors, however they are written: a program may have them from a file. Values
    /// of variables whose names say that they are secret are masked anyway. Default: none.
    pub secrets: Vec<Secret>,
}

impl Default for ExecConfig {
    fn default() -> Self {
        Self {
            programs: Vec::new(),
            variables: Vec::new(),
            output_bytes: 64 << 10,
            secrets: Vec::new(),
        }
    }
}

/// A job's output: what a program that ended well has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Its standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// How many bytes stood before that and were not kept.
    pub stdout_dropped: u64,
    /// Its standard error.
    pub stderr: String,
    /// How many bytes stood before that and were not kept.
    pub stderr_dropped: u64,
}

/// Which job a program runs for.
#[derive(Debug, Clone)]
pub struct ExecFor {
    /// The job's id.
    pub job: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

impl Exec {
    /// A program without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self { argv: vec![program.into()], ..Self::default() }
    }

    /// Looks at the payload alone; [`execute`] does the same first.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field.
    pub fn check(&self, config: &ExecConfig) -> Result<(), KindError> {
        let wrong = |field, problem: String| Err(KindError::payload(field, problem));
        let count = self.argv.len();
        if !(1..=MAX_ARGUMENTS).contains(&count) {
            return wrong(
                "argv",
                format!("has {count} entries, it must have 1 to {MAX_ARGUMENTS}"),
            );
        }
        if !config.programs.iter().any(|allowed| allowed.as_os_str() == self.argv[0].as_str()) {
            return wrong(
                "argv",
                "begins with a program that the operator did not allow".to_owned(),
            );
        }
        let unknown = |name: &&String| !config.variables.contains(name);
        if let Some(name) = self.env.keys().find(unknown) {
            return wrong(
                "env",
                format!("has `{}`, which the operator did not allow", shown(name)),
            );
        }
        let fields =
            [("argv", self.argv.iter().collect::<Vec<_>>()), ("env", self.env.values().collect())];
        for (field, texts) in fields {
            if texts.iter().any(|text| text.contains('\0')) {
                return wrong(field, "has a NUL, which no program can be given".to_owned());
            }
            let found = texts.iter().map(|text| text.len() as u64).sum();
            at_most(field, found, "bytes", MAX_ARGUMENT_BYTES as u64)?;
        }
        Ok(())
    }
}

/// Does the work of one `exec` job: runs the program and waits for its end. Blocks.
///
/// As soon as `stopped` says so, the program and whatever it started in its process group are told to end (SIGTERM), and
/// killed half a second later. Nothing of that group outlives this call in any case.
///
/// # Errors
/// [`KindError::Exit`] if it ended otherwise than with code 0, and see [`KindError`].
pub fn execute(
    job: &Exec,
    (root, config): (&FilesRoot, &ExecConfig),
    of: &ExecFor,
    stopped: &dyn Fn() -> bool,
) -> Result<Executed, KindError> {
    job.check(config)?;
    let folder = root.folder(job.cwd.as_deref().unwrap_or("."), "cwd")?;
    let variables =
        [("LONGSHORE_JOB_ID", of.job.clone()), ("LONGSHORE_ATTEMPT", of.attempt.to_string())];
    let masker = Masker::new(config.secrets.iter().map(Secret::reveal))
        .with_variables(job.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let program = Program {
        argv: &job.argv,
        folder: &folder,
        stdin: job.stdin.as_deref().unwrap_or_default(),
        // A secret over the cut is seen whole, and only then the cut is made.
        keep: config.output_bytes + masker.margin(),
    };
    let given = job.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let ours = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let ended = program.run(ours.chain(given), stopped).map_err(|source| KindError::Io {
        doing: "run",
        field: "argv",
        source,
    })?;
    let Some(ended) = ended else { return Err(KindError::Cancelled) };
    if !ended.status.success() {
        let said = if ended.stderr.is_empty() { &ended.stdout } else { &ended.stderr };
        let (said, _) = last(said, &masker, ERROR_BYTES);
        return Err(KindError::Exit { status: ended.status, said });
    }
    let (stdout, stdout_dropped) = last(&ended.stdout, &masker, config.output_bytes);
    let (stderr, stderr_dropped) = last(&ended.stderr, &masker, config.output_bytes);
    Ok(Executed { stdout, stdout_dropped, stderr, stderr_dropped })
}

/// The last bytes of an output, without secrets; and how many bytes stood before them.
fn last(output: &Tail, masker: &Masker, most: usize) -> (String, u64) {
    let text = masker.text(&output.text());
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    (text[from..].to_owned(), output.dropped() + from as u64)
}
