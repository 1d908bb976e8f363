//! `unique`, `unique(by = [to, template], within = "10m", on_conflict = "keep")`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Fields, LitStr, Member, Path, Result};

use crate::fields::Redacted;
use crate::read::{Entry, Faults, Known, entries, meant};

const UNIQUE: Known = &[
    ("by", "by = [to, template]"),
    ("key", "key = \"nightly\""),
    ("within", "within = \"10m\""),
    ("for_good", "for_good"),
    ("on_conflict", "on_conflict = \"keep\""),
    ("same_payload", "same_payload"),
];
/// In the order of `OnConflict`'s variants below.
const RULES: [&str; 3] = ["keep", "replace", "refuse"];

/// What makes a job the only one.
#[derive(Default)]
pub(crate) struct Unique {
    by: Option<(Vec<Member>, Span)>,
    key: Option<LitStr>,
    within_ms: Option<u64>,
    for_good: bool,
    rule: usize,
    same_payload: bool,
    /// The key would show what is redacted.
    hashed: bool,
}

/// Reads what follows the word `unique`, which may be nothing.
pub(crate) fn read(entry: &Entry<'_>, faults: &mut Faults) -> Result<Unique> {
    let mut unique = Unique::default();
    if entry.ends() {
        return Ok(unique);
    }
    entry.inside(|input| {
        entries(input, UNIQUE, faults, |entry, faults| {
            match entry.name.to_string().as_str() {
                "by" => unique.by = Some((fields(entry, faults)?, entry.name.span())),
                "key" => unique.key = Some(entry.name_text()?),
                "within" => unique.within_ms = Some(entry.span(1)?),
                "for_good" => unique.for_good = true,
                "on_conflict" => unique.rule = entry.word(&RULES)?,
                _ => unique.same_payload = true,
            }
            exclusive(&unique, entry)
        });
        Ok(())
    })?;
    Ok(unique)
}

/// What cannot be said together.
fn exclusive(unique: &Unique, entry: &Entry<'_>) -> Result<()> {
    let fault = |words| Err(Error::new(entry.name.span(), words));
    let (is_key, is_hold) = (
        entry.name == "by" || entry.name == "key",
        entry.name == "within" || entry.name == "for_good",
    );
    if is_key && unique.by.is_some() && unique.key.is_some() {
        return fault("`by` and `key` both say what the key is: one of them");
    }
    if is_hold && unique.within_ms.is_some() && unique.for_good {
        return fault("`within` and `for_good` both say how long the key is held: one of them");
    }
    Ok(())
}

fn fields(entry: &Entry<'_>, faults: &mut Faults) -> Result<Vec<Member>> {
    entry.equals()?;
    let mut fields: Vec<Member> = Vec::new();
    for field in entry.list(|input| input.parse::<Member>())? {
        match fields.contains(&field) {
            true => faults.at(span(&field), format!("`{}` is said twice", name(&field))),
            false => fields.push(field),
        }
    }
    if fields.is_empty() {
        return Err(entry.wrong(entry.name.span(), "names no field; `unique` alone takes them all"));
    }
    Ok(fields)
}

impl Unique {
    /// Whether the fields are there. `None`: the type is no struct.
    pub fn check(&mut self, of: Option<&Fields>, redacted: &[Redacted], faults: &mut Faults) {
        let Some((by, at)) = &mut self.by else { return };
        let Some(of) = of else {
            let words =
                "an enum has no fields of its own; say `unique` (its whole payload) or `key`";
            faults.at(*at, words);
            self.by = None;
            return;
        };
        let all: Vec<Member> = of.members().collect();
        let names: Vec<String> = all.iter().map(name).collect();
        by.retain(|field| {
            let there = all.contains(field);
            if !there {
                let given = name(field);
                let words = format!("there is no field `{given}`{}", meant(&given, &names));
                faults.at(span(field), words);
            }
            there
        });
        self.hashed = by.iter().any(|field| redacted.iter().any(|hidden| hidden.member == *field));
    }

    /// As an expression.
    pub fn tokens(&self, krate: &Path) -> TokenStream {
        let key = match (&self.key, &self.by) {
            (Some(key), _) => quote!(key(#key)),
            (None, Some((by, _))) => {
                let parts = by.iter().map(|field| {
                    let name = name(field);
                    let value = quote_spanned!(span(field)=> &self.#field);
                    quote!(.and(#name, #value))
                });
                quote!(value(&#krate::job::Fields::new() #(#parts)*))
            }
            (None, None) => quote!(payload()),
        };
        let within =
            self.within_ms.map(|ms| quote!(.within(::core::time::Duration::from_millis(#ms))));
        let for_good = self.for_good.then(|| quote!(.for_good()));
        let rule = match self.rule {
            1 => Some(quote!(.on_conflict(#krate::OnConflict::Replace))),
            2 => Some(quote!(.on_conflict(#krate::OnConflict::Refuse))),
            _ => None,
        };
        let same_payload = self.same_payload.then(|| quote!(.same_payload()));
        let hashed = self.hashed.then(|| quote!(.hashed()));
        quote!(#krate::Unique::#key #hashed #within #for_good #rule #same_payload)
    }
}

/// A field's name in the key: as it is written, `0` for the first of a tuple.
pub(crate) fn name(field: &Member) -> String {
    use syn::ext::IdentExt;
    match field {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn span(field: &Member) -> Span {
    match field {
        Member::Named(name) => name.span(),
        Member::Unnamed(index) => index.span,
    }
}
