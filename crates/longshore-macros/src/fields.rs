//! What is said of a type's fields: `#[job(redact)]`, and what they are called in JSON.

use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Lit, LitStr, Member, Token};

use crate::read::{Faults, Known, entries};

const FIELD: Known = &[("redact", "redact")];

/// A field that nobody is shown.
pub(crate) struct Redacted {
    pub member: Member,
    /// Its name in the payload.
    pub json: String,
}

/// The fields marked `#[job(redact)]`. Options elsewhere inside the type are faults: unheeded, they would
/// be traps.
pub(crate) fn redacted(input: &DeriveInput, faults: &mut Faults) -> Vec<Redacted> {
    match &input.data {
        Data::Struct(data) => of_struct(input, &data.fields, faults),
        Data::Enum(data) => {
            for variant in &data.variants {
                let fields = variant.fields.iter().flat_map(|field| &field.attrs);
                for attribute in of_job(&variant.attrs).chain(of_job(fields)) {
                    let words = "options of a job stand on its type; what lies deeper than a payload's own fields cannot be redacted";
                    faults.add(Error::new_spanned(attribute.path(), words));
                }
            }
            Vec::new()
        }
        Data::Union(_) => Vec::new(),
    }
}

fn of_struct(input: &DeriveInput, fields: &Fields, faults: &mut Faults) -> Vec<Redacted> {
    let whole = Serde::read(&input.attrs);
    let mut redacted = Vec::new();
    for (field, member) in fields.iter().zip(fields.members()) {
        let mut marked = None;
        for attribute in of_job(&field.attrs) {
            let read = attribute.parse_args_with(|input: ParseStream<'_>| {
                entries(input, FIELD, faults, |entry, _| {
                    marked = Some(entry.name.span());
                    if entry.ends() { Ok(()) } else { Err(entry.misread()) }
                });
                Ok(())
            });
            faults.keep(read);
        }
        let Some(at) = marked else { continue };
        match json_name(&whole, field) {
            Ok(json) => redacted.push(Redacted { member, json }),
            Err(why) => faults
                .at(at, format!("{why}; name what is hidden on the type: `redact = [\"token\"]`")),
        }
    }
    redacted
}

fn of_job<'a>(
    attributes: impl IntoIterator<Item = &'a Attribute>,
) -> impl Iterator<Item = &'a Attribute> {
    attributes.into_iter().filter(|attribute| attribute.path().is_ident("job"))
}

/// What serde calls a field of the payload.
fn json_name(whole: &Serde, field: &Field) -> Result<String, &'static str> {
    let of_field = Serde::read(&field.attrs);
    let Some(name) = &field.ident else {
        return Err("a field without a name has none in the payload");
    };
    if whole.is_other {
        return Err("the payload is not this type's own fields (`transparent`, `into`)");
    }
    if of_field.is_flat {
        return Err("a field that is flattened has no name in the payload");
    }
    let rule = whole.rename_all.as_deref().unwrap_or("snake_case");
    let by_rule = renamed(&name.unraw().to_string(), rule);
    of_field.rename.or(by_rule).ok_or("the rule of `rename_all` is not known here")
}

/// A field's name by serde's rule.
fn renamed(name: &str, rule: &str) -> Option<String> {
    let pascal = || -> String {
        let words = name.split('_').map(|word| {
            let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            first.to_ascii_uppercase() + rest
        });
        words.collect()
    };
    Some(match rule {
        "lowercase" | "snake_case" => name.to_owned(),
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => {
            let pascal = pascal();
            let (first, rest) = pascal.split_at(pascal.chars().next().map_or(0, char::len_utf8));
            first.to_ascii_lowercase() + rest
        }
        "kebab-case" => name.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase().replace('_', "-"),
        _ => return None,
    })
}

/// What `#[serde(…)]` says about names in JSON that are written.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    is_flat: bool,
    /// The JSON is that of another type.
    is_other: bool,
}

impl Serde {
    fn read(attributes: &[Attribute]) -> Serde {
        let mut serde = Serde::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let words = Punctuated::<Word, Token![,]>::parse_terminated;
            // Words that serde reads and this does not may be about names: then nothing is known of them.
            let Ok(words) = attribute.parse_args_with(words) else {
                serde.is_other = true;
                continue;
            };
            for Word { name, value } in words {
                match name.to_string().as_str() {
                    "rename" => serde.rename = value.or(serde.rename),
                    "rename_all" => serde.rename_all = value.or(serde.rename_all),
                    "flatten" => serde.is_flat = true,
                    "transparent" | "into" => serde.is_other = true,
                    _ => {}
                }
            }
        }
        serde
    }
}

/// `name`, `name = "value"`, or `name(serialize = "value", …)`.
struct Word {
    name: Ident,
    value: Option<String>,
}

impl syn::parse::Parse for Word {
    fn parse(input: ParseStream<'_>) -> syn::Result<Word> {
        let name = Ident::parse_any(input)?;
        if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let inner = Punctuated::<Word, Token![,]>::parse_terminated(&content)?;
            let value = inner.into_iter().find(|word| word.name == "serialize");
            return Ok(Word { name, value: value.and_then(|word| word.value) });
        }
        let mut value = None;
        if input.parse::<Option<Token![=]>>()?.is_some() {
            value = match input.parse()? {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            };
        }
        Ok(Word { name, value })
    }
}

/// The names in JSON that are hidden, each once: those of fields, and those said on the type.
pub(crate) fn all_names(fields: &[Redacted], named: &[LitStr]) -> Vec<String> {
    let mut all: Vec<String> = fields.iter().map(|field| field.json.clone()).collect();
    for name in named.iter().map(LitStr::value) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::renamed;

    /// The names that serde's own derive gives.
    #[test]
    fn names_follow_serdes_rules() {
        macro_rules! same {
            ($($rule:literal),*) => {$({
                #[derive(serde::Serialize)]
                #[serde(rename_all = $rule)]
                #[allow(non_snake_case, reason = "serde's rule for odd names counts too")]
                struct S { reset_token: u8, a: u8, r#type: u8, x_1y: u8, _under: u8, two__lines: u8 }
                let s = S { reset_token: 0, a: 0, r#type: 0, x_1y: 0, _under: 0, two__lines: 0 };
                let value = serde_json::to_value(&s).expect("JSON");
                for name in ["reset_token", "a", "type", "x_1y", "_under", "two__lines"] {
                    let name = renamed(name, $rule).expect($rule);
                    assert!(value.get(&name).is_some(), "{}: {name} in {value}", $rule);
                }
            })*};
        }
        same!("lowercase", "UPPERCASE", "PascalCase", "camelCase", "snake_case");
        same!("SCREAMING_SNAKE_CASE", "kebab-case", "SCREAMING-KEBAB-CASE");
        assert_eq!(renamed("a", "wOw"), None);
    }
}
