//! `meta(team = "mail", tier = 2)`: notes as a JSON object.

use std::collections::HashSet;

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Lit, Result, Token};

use crate::read::{Entry, Faults};

const MAX_META_BYTES: usize = 64 * 1024;

/// The object's text.
pub(crate) fn read(entry: &Entry<'_>, faults: &mut Faults) -> Result<String> {
    let notes = entry
        .inside(Punctuated::<Note, Token![,]>::parse_terminated)
        .map_err(|fault| entry.misread_at(fault.span()))?;
    let mut said = HashSet::new();
    let mut parts = Vec::new();
    for Note { name, value } in notes {
        if !said.insert(name.unraw().to_string()) {
            faults.at(name.span(), format!("`{name}` is said twice"));
        }
        parts.push(format!("{}:{value}", quoted(&name.unraw().to_string())));
    }
    let object = format!("{{{}}}", parts.join(","));
    if object.len() > MAX_META_BYTES {
        let words = format!("has {} bytes; the limit is {MAX_META_BYTES}", object.len());
        return Err(entry.wrong(entry.name.span(), words));
    }
    Ok(object)
}

/// `team = "mail"`, its value as JSON.
struct Note {
    name: Ident,
    value: String,
}

impl Parse for Note {
    fn parse(input: ParseStream<'_>) -> Result<Note> {
        let name = Ident::parse_any(input)?;
        input.parse::<Token![=]>()?;
        let minus: Option<Token![-]> = input.parse()?;
        let value: Lit = input.parse()?;
        let text = json(&value).filter(|_| minus.is_none() || matches!(value, Lit::Int(_)));
        let text = text.ok_or_else(|| Error::new(value.span(), "no text, whole number or bool"))?;
        Ok(Note { name, value: format!("{}{text}", minus.map_or("", |_| "-")) })
    }
}

fn json(value: &Lit) -> Option<String> {
    match value {
        Lit::Str(text) => Some(quoted(&text.value())),
        Lit::Int(number) if number.suffix().is_empty() => Some(number.base10_digits().to_owned()),
        Lit::Bool(yes) => Some(yes.value.to_string()),
        _ => None,
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
