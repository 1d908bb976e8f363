//! Puts the layers together, and says of a bad value where it came from.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use serde::{Deserialize, Deserializer};

use super::{Settings, TokenText, keys};
use crate::args::{Args, Command, WorkerArgs};
use crate::exit::Failure;

const DEFAULT_FILE: &str = "longshore.toml";

/// Where a command works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Straight on the database.
    Database,
    /// Through a server. Whether a flag said so, and whether somebody has named a database too.
    Server { by_flag: bool, database_named: bool },
}

/// The settings of this command, and where they send it.
pub(crate) fn load(args: &Args) -> Result<(Settings, Way), Failure> {
    let known = keys::known();
    let defaults = Figment::from(Serialized::defaults(Settings::default()));
    let mut in_file = Figment::new();
    if let Some(file) = file(args)? {
        let toml = Toml::file_exact(&file);
        let at = |words: &dyn Display| Failure::usage(format!("{}: {words}", file.display()));
        let data = toml.data().map_err(|error| at(&error.kind))?;
        if let Some(unknown) = data.values().find_map(|dict| keys::unknown(dict, &known)) {
            return Err(at(&unknown));
        }
        in_file = in_file.merge(toml);
    }
    let (environment, flags) = (environment(&known)?, flags(args));
    // How near the place is where somebody named it; 0: nobody has.
    let nearness = |key: &str| {
        let places = [&in_file, &environment.figment, &flags.figment];
        places.iter().rposition(|place| is_named(place, key)).map_or(0, |at| at + 1)
    };
    let way = way(nearness("url"), nearness("database"))?;
    let layers = defaults.merge(in_file).merge(environment).merge(flags);
    let settings = layers.extract().map_err(|error| Failure::usage(sentence(&error)))?;
    Ok((settings, way))
}

/// An empty text names nothing.
fn is_named(layer: &Figment, key: &str) -> bool {
    layer.find_value(key).is_ok_and(|value| value.as_str() != Some(""))
}

/// What is named nearer decides; in the same place, the server.
fn way(url: usize, database: usize) -> Result<Way, Failure> {
    const FLAGS: usize = 3;
    match (url, database) {
        (FLAGS, FLAGS) => {
            let words = "--url and --database exclude each other: a command works in one place";
            Err(Failure::usage(words))
        }
        (0, _) => Ok(Way::Database),
        _ if url < database => Ok(Way::Database),
        _ => Ok(Way::Server { by_flag: url == FLAGS, database_named: database > 0 }),
    }
}

/// Which file to read: one that is asked for must be there.
fn file(args: &Args) -> Result<Option<PathBuf>, Failure> {
    let asked =
        args.common.config.clone().or_else(|| std::env::var_os("LONGSHORE_CONFIG").map(Into::into));
    match asked {
        Some(file) => match std::fs::metadata(&file) {
            Ok(_) => Ok(Some(file)),
            Err(error) => Err(Failure::usage(format!("{}: {error}", file.display()))),
        },
        None => Ok(Path::new(DEFAULT_FILE).exists().then(|| DEFAULT_FILE.into())),
    }
}

/// `LONGSHORE_WORKER__LEASE` for `worker.lease`; and `DATABASE_URL`, which many platforms set.
fn environment(known: &[String]) -> Result<Layer, Failure> {
    let mut layer = Layer::new("the environment");
    let named = |key: &String| {
        (key.clone(), format!("LONGSHORE_{}", key.replace('.', "__").to_uppercase()))
    };
    let platform = std::iter::once(("database".to_owned(), "DATABASE_URL".to_owned()));
    for (key, variable) in platform.chain(known.iter().map(named)) {
        match std::env::var(&variable) {
            Ok(text) if !text.is_empty() => layer.set(&key, text),
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(Failure::usage(format!("{variable} is not UTF-8")));
            }
            _ => {}
        }
    }
    Ok(layer)
}

fn flags(args: &Args) -> Layer {
    let mut layer = Layer::new("the flags");
    layer.set_if("database", args.common.database.clone());
    layer.set_if("url", args.common.url.clone());
    layer.set_if("token", args.common.token.as_ref().map(TokenText::reveal));
    layer.set_if(
        "log.format",
        args.common.log_format.map(|format| format!("{format:?}").to_lowercase()),
    );
    layer.set_if("log.level", args.common.log_level.clone());
    match &args.command {
        Command::Dev(dev) => worker_flags(&mut layer, &dev.worker),
        Command::Serve(serve) => {
            worker_flags(&mut layer, &serve.worker);
            layer.set_if("http.listen", serve.listen.clone());
        }
        _ => {}
    }
    layer
}

fn worker_flags(layer: &mut Layer, args: &WorkerArgs) {
    layer.set_if("queues", (!args.queues.is_empty()).then(|| args.queues.clone()));
    layer.set_if("worker.name", args.name.clone());
    layer.set_if("worker.lease", args.lease.map(|span| span.to_string()));
    layer.set_if("worker.drain", args.drain.map(|span| span.to_string()));
    layer.set_if("worker.poll", args.poll.map(|span| span.to_string()));
    layer.set_if("worker.upkeep", args.no_upkeep.then_some(false));
    layer.set_if(
        "kinds.files_root",
        args.files_root.as_ref().map(|path| path.display().to_string()),
    );
}

/// Single values by their dotted keys.
struct Layer {
    name: &'static str,
    figment: Figment,
}

impl Layer {
    fn new(name: &'static str) -> Layer {
        Layer { name, figment: Figment::new() }
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        let layers = std::mem::take(&mut self.figment);
        self.figment = layers.merge(Serialized::default(key, value.into()));
    }

    fn set_if(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        self.figment.data()
    }
}

fn sentence(error: &figment::Error) -> String {
    let from = error.metadata.as_ref().map(|metadata| match &metadata.source {
        Some(source) => format!(" (from {source})"),
        None => format!(" (from {})", metadata.name),
    });
    format!("{}: {}{}", error.path.join("."), error.kind, from.unwrap_or_default())
}

/// A value, or the text of one: all that an environment variable can hold.
pub(super) fn text_or<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given<T> {
        Value(T),
        Text(String),
    }
    match Given::deserialize(from)? {
        Given::Value(value) => Ok(value),
        Given::Text(text) => {
            text.parse().map_err(|error| serde::de::Error::custom(format!("`{text}`: {error}")))
        }
    }
}
