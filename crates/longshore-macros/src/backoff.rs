//! `backoff = exponential("5s", max = "1h")`: the variants of `longshore::Backoff`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Error, Ident, LitStr, Result, Token};

use crate::read::{Entry, Faults, Known, entries, meant, span_of};

const POLICIES: Known = &[
    ("fixed", "backoff = fixed(\"5s\")"),
    ("exponential", "backoff = exponential(\"1s\", factor = 3, max = \"1h\")"),
    ("polynomial", "backoff = polynomial(\"1s\", exponent = 4, max = \"1h\")"),
    ("list", "backoff = list([\"1s\", \"10s\", \"1m\"])"),
];
const EXPONENTIAL: Known = &[("factor", "factor = 3"), ("max", "max = \"1h\"")];
const POLYNOMIAL: Known = &[("exponent", "exponent = 4"), ("max", "max = \"1h\"")];

/// As in the library's default policy.
const DEFAULT_FACTOR: u64 = 3;
const DEFAULT_EXPONENT: u64 = 4;
const DEFAULT_MAX_MS: u64 = 3_600_000;

const MAX_EXPONENT: u64 = 20;
const MAX_DELAYS: usize = 100;

/// The variant with its numbers, without `Backoff::`.
pub(crate) fn read(entry: &Entry<'_>, faults: &mut Faults) -> Result<TokenStream> {
    let policy: Ident = entry.parsed()?;
    let name = policy.to_string();
    let Some((_, form)) = POLICIES.iter().find(|(known, _)| name == *known) else {
        let all: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
        let words = format!("`{name}` is no backoff{}", meant(&name, &all));
        return Err(Error::new(policy.span(), words));
    };
    let entry = &Entry { name: entry.name.clone(), form, input: entry.input };
    entry.inside(|input| match name.as_str() {
        "fixed" => {
            let delay_ms = first(input, entry)?;
            Ok(quote!(Fixed { delay_ms: #delay_ms }))
        }
        "list" => {
            let delays_ms = delays(input, entry, faults)?;
            Ok(quote!(List { delays_ms: ::std::vec![#(#delays_ms),*] }))
        }
        "exponential" => {
            let (base_ms, factor, max_ms) = growing(input, entry, faults, EXPONENTIAL)?;
            let factor = factor.unwrap_or(DEFAULT_FACTOR) as u32;
            Ok(quote!(Exponential { base_ms: #base_ms, factor: #factor, max_ms: #max_ms }))
        }
        _ => {
            let (base_ms, exponent, max_ms) = growing(input, entry, faults, POLYNOMIAL)?;
            let exponent = exponent.unwrap_or(DEFAULT_EXPONENT) as u32;
            Ok(quote!(Polynomial { base_ms: #base_ms, exponent: #exponent, max_ms: #max_ms }))
        }
    })
}

/// The wait that stands first, without a name.
fn first(input: ParseStream<'_>, entry: &Entry<'_>) -> Result<u64> {
    let delay: LitStr = input.parse().map_err(|fault| entry.misread_at(fault.span()))?;
    if !input.is_empty() && input.parse::<Token![,]>().is_err() {
        return Err(entry.misread_at(input.span()));
    }
    span_of(&delay, 0)
}

/// `"5s", NUMBER = 3, max = "1h"`: the shortest wait, the number if it is said, the longest wait.
fn growing(
    input: ParseStream<'_>,
    entry: &Entry<'_>,
    faults: &mut Faults,
    known: Known,
) -> Result<(u64, Option<u64>, u64)> {
    let base_ms = first(input, entry)?;
    let (mut number, mut max_ms) = (None, DEFAULT_MAX_MS.max(base_ms));
    entries(input, known, faults, |entry, _| {
        if entry.name == "max" {
            let max = entry.text()?;
            max_ms = span_of(&max, 0)?;
            if max_ms < base_ms {
                let words = format!("is {}, which is less than the shortest wait", max.value());
                return Err(entry.wrong(max.span(), words));
            }
        } else {
            let most = if entry.name == "exponent" { MAX_EXPONENT } else { u32::MAX.into() };
            number = Some(entry.number(1, most)?);
        }
        Ok(())
    });
    Ok((base_ms, number, max_ms))
}

/// `["1s", "10s", "1m"]`
fn delays(input: ParseStream<'_>, entry: &Entry<'_>, faults: &mut Faults) -> Result<Vec<u64>> {
    let span = input.span();
    let entry = Entry { name: entry.name.clone(), form: entry.form, input };
    let delays: Vec<LitStr> = entry.list(|input| input.parse())?;
    if delays.is_empty() || delays.len() > MAX_DELAYS {
        let words = format!("has {} waits; it may have 1 to {MAX_DELAYS}", delays.len());
        return Err(entry.wrong(span, words));
    }
    Ok(delays.iter().filter_map(|delay| faults.keep(span_of(delay, 0))).collect())
}
