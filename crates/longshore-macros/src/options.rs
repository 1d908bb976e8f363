//! What `#[job(…)]` may say on a type.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Error, LitStr, Path, Result, Type};

use crate::read::{Entry, Faults, Known, entries};
use crate::unique::Unique;
use crate::{backoff, meta, unique};

/// The limits of `longshore::NewJob`.
const MAX_PRIORITY: u64 = 9;
const MAX_ATTEMPTS: u64 = 1_000_000_000;
const MAX_TAGS: usize = 64;
const MAX_VERSION: u64 = i32::MAX as u64;

const OPTIONS: Known = &[
    ("kind", "kind = \"send_email\""),
    ("alias", "alias = \"mailer\""),
    ("output", "output = MessageId"),
    ("version", "version = 2"),
    ("upgrade", "upgrade = path::to::function"),
    ("redact", "redact = [\"token\"]"),
    ("schema", "schema"),
    ("queue", "queue = \"mail\""),
    ("priority", "priority = 5"),
    ("run_in", "run_in = \"10m\""),
    ("max_attempts", "max_attempts = 10"),
    ("backoff", "backoff = exponential(\"1s\", factor = 3, max = \"1h\")"),
    ("backoff_with", "backoff_with = path::to::function"),
    ("timeout", "timeout = \"30s\""),
    ("retain", "retain = \"7d\""),
    ("tags", "tags = [\"mail\", \"nightly\"]"),
    ("meta", "meta(team = \"mail\", tier = 2)"),
    ("unique", "unique(by = [to, template], within = \"10m\")"),
    ("crate", "crate = path::to::longshore"),
];

/// What was said and understood.
#[derive(Default)]
pub(crate) struct Options {
    /// The kind, if it was said and is one.
    pub kind: Option<LitStr>,
    pub kind_is_said: bool,
    pub aliases: Vec<LitStr>,
    pub output: Option<Type>,
    pub version: Option<u32>,
    pub upgrade: Option<Path>,
    /// Names in JSON.
    pub redact: Vec<LitStr>,
    /// Where it was said.
    pub schema: Option<Span>,
    pub backoff_with: Option<Path>,
    pub unique: Option<Unique>,
    pub krate: Option<Path>,
    queue: Option<LitStr>,
    priority: Option<u8>,
    run_in_ms: Option<u64>,
    max_attempts: Option<u32>,
    backoff: Option<TokenStream>,
    timeout: Option<Timeout>,
    retain_ms: Option<u64>,
    tags: Vec<LitStr>,
    meta: Option<String>,
}

enum Timeout {
    Never,
    Millis(u64),
}

impl Options {
    /// Reads them all; several `#[job(…)]` are as one.
    pub fn read(attributes: &[Attribute], faults: &mut Faults) -> Options {
        let mut options = Options::default();
        let mut said = Vec::new();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("job")) {
            let read = attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
                entries(input, OPTIONS, faults, |entry, faults| {
                    // Within one attribute `entries` has looked already.
                    if said.contains(&(entry.name.to_string(), true)) {
                        return Err(entry.twice());
                    }
                    said.push((entry.name.to_string(), false));
                    options.read_one(entry, faults)
                });
                Ok(())
            });
            said.iter_mut().for_each(|(_, earlier)| *earlier = true);
            faults.keep(read);
        }
        options.check_aliases(faults);
        options.check_upgrade(faults);
        options
    }

    fn read_one(&mut self, entry: &Entry<'_>, faults: &mut Faults) -> Result<()> {
        match entry.name.to_string().as_str() {
            "kind" => {
                self.kind_is_said = true;
                self.kind = Some(entry.name_text()?);
            }
            "alias" => self.aliases = entry.names(faults)?,
            "output" => self.output = Some(entry.parsed()?),
            "version" => self.version = Some(entry.number(1, MAX_VERSION)? as u32),
            "upgrade" => self.upgrade = Some(entry.parsed()?),
            "redact" => self.redact = entry.names(faults)?,
            "schema" if !entry.ends() => return Err(entry.misread()),
            "schema" => self.schema = Some(entry.name.span()),
            "queue" => self.queue = Some(entry.name_text()?),
            "priority" => self.priority = Some(entry.number(0, MAX_PRIORITY)? as u8),
            "run_in" => self.run_in_ms = Some(entry.span(0)?),
            "max_attempts" => self.max_attempts = Some(entry.number(1, MAX_ATTEMPTS)? as u32),
            "backoff" => self.backoff = Some(backoff::read(entry, faults)?),
            "backoff_with" => self.backoff_with = Some(entry.parsed()?),
            "timeout" => self.timeout = Some(timeout(entry)?),
            "retain" => self.retain_ms = Some(entry.span(0)?),
            "tags" => self.tags = tags(entry, faults)?,
            "meta" => self.meta = Some(meta::read(entry, faults)?),
            "unique" => self.unique = Some(unique::read(entry, faults)?),
            _ => self.krate = Some(entry.parsed()?),
        }
        Ok(())
    }

    fn check_aliases(&self, faults: &mut Faults) {
        let Some(kind) = &self.kind else { return };
        for alias in self.aliases.iter().filter(|alias| alias.value() == kind.value()) {
            faults.at(
                alias.span(),
                "alias is the kind itself; it is for names that the kind had before",
            );
        }
    }

    fn check_upgrade(&self, faults: &mut Faults) {
        if let (Some(upgrade), None | Some(1)) = (&self.upgrade, self.version) {
            let words = "upgrade brings older payloads up, so there is a version above 1: write `version = 2`";
            faults.at(upgrade.span(), words);
        }
    }

    /// The calls on a `NewJob`, in the order of its fields.
    pub fn calls(&self, krate: &Path) -> TokenStream {
        let queue = self.queue.as_ref().map(|queue| quote!(.queue(#queue)));
        let priority = self.priority.map(|priority| quote!(.priority(#priority)));
        let run_in = self.run_in_ms.map(|ms| call_with_span(quote!(run_in), ms));
        let max_attempts = self.max_attempts.map(|attempts| quote!(.max_attempts(#attempts)));
        let backoff =
            self.backoff.as_ref().map(|backoff| quote!(.backoff(#krate::Backoff::#backoff)));
        let timeout = self.timeout.as_ref().map(|timeout| match timeout {
            Timeout::Never => quote!(.no_timeout()),
            Timeout::Millis(ms) => call_with_span(quote!(timeout), *ms),
        });
        let retain = self.retain_ms.map(|ms| call_with_span(quote!(retain), ms));
        let tags = &self.tags;
        let meta = self.meta.as_ref().map(|meta| quote!(.meta(#meta)));
        let unique = self.unique.as_ref().map(|unique| {
            let unique = unique.tokens(krate);
            quote!(.unique(#unique))
        });
        quote!(
            #queue #priority #run_in #max_attempts #backoff #timeout #retain #(.tag(#tags))* #meta #unique
        )
    }
}

fn call_with_span(name: TokenStream, ms: u64) -> TokenStream {
    quote!(.#name(::core::time::Duration::from_millis(#ms)))
}

fn timeout(entry: &Entry<'_>) -> Result<Timeout> {
    let given = entry.text()?;
    if given.value() == "none" {
        return Ok(Timeout::Never);
    }
    let ms = crate::read::span_of(&given, 1)
        .map_err(|fault| Error::new(fault.span(), format!("{fault}, or none for no limit")))?;
    Ok(Timeout::Millis(ms))
}

fn tags(entry: &Entry<'_>, faults: &mut Faults) -> Result<Vec<LitStr>> {
    let tags = entry.names(faults)?;
    if tags.len() > MAX_TAGS {
        let words = format!("has {} entries; the limit is {MAX_TAGS}", tags.len());
        return Err(entry.wrong(entry.name.span(), words));
    }
    Ok(tags)
}
