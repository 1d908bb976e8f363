//! How options are read: names, what follows each, and every fault in them, told at once.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseBuffer, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitInt, LitStr, Result, Token};

use crate::{name, span};

/// Everything that is wrong.
#[derive(Default)]
pub(crate) struct Faults(Option<Error>);

impl Faults {
    pub fn add(&mut self, fault: Error) {
        match &mut self.0 {
            Some(faults) => faults.combine(fault),
            None => self.0 = Some(fault),
        }
    }

    /// A fault at this place.
    pub fn at(&mut self, span: Span, words: impl std::fmt::Display) {
        self.add(Error::new(span, words));
    }

    /// The value, or `None` with its fault kept.
    pub fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }

    /// Nothing, or all of them.
    pub fn end(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// What may be said, with an example of how.
pub(crate) type Known = &'static [(&'static str, &'static str)];

/// Reads `name …, name …` to the end. `read` is called for each name of `known` that comes for the
/// first time.
pub(crate) fn entries(
    input: ParseStream<'_>,
    known: Known,
    faults: &mut Faults,
    mut read: impl FnMut(&Entry<'_>, &mut Faults) -> Result<()>,
) {
    let mut said = HashSet::new();
    while !input.is_empty() {
        let outcome = entry(input, known).and_then(|entry| {
            if !said.insert(entry.name.to_string()) {
                return Err(entry.twice());
            }
            read(&entry, faults)?;
            if !input.is_empty() && !input.peek(Token![,]) {
                let next = input.span();
                return Err(Error::new(next, format!("a comma ends `{}`", entry.name)));
            }
            Ok(())
        });
        if let Err(fault) = outcome {
            faults.add(fault);
            // The next one may be wrong too.
            while !input.is_empty() && !input.peek(Token![,]) {
                let _: Result<TokenTree> = input.parse();
            }
        }
        let _: Result<Token![,]> = input.parse();
    }
}

fn entry<'a>(input: ParseStream<'a>, known: Known) -> Result<Entry<'a>> {
    let name = Ident::parse_any(input)
        .map_err(|fault| Error::new(fault.span(), "the name of an option belongs here"))?;
    let (_, form) = known.iter().find(|(known, _)| name == *known).ok_or_else(|| {
        let all: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Error::new(
            name.span(),
            format!("`{name}` is no option here{}", meant(&name.to_string(), &all)),
        )
    })?;
    Ok(Entry { name, form, input })
}

/// `; did you mean …?`, or all there are.
pub(crate) fn meant<S: AsRef<str>>(given: &str, all: &[S]) -> String {
    let near = |word: &str| strsim::normalized_damerau_levenshtein(given, word);
    let best = all.iter().map(AsRef::as_ref).max_by(|a, b| near(a).total_cmp(&near(b)));
    match best {
        Some(best) if near(best) >= 0.5 => format!("; did you mean `{best}`?"),
        Some(_) => {
            let all: Vec<String> = all.iter().map(|word| format!("`{}`", word.as_ref())).collect();
            format!("; there is {}", all.join(", "))
        }
        None => String::new(),
    }
}

/// One option: its name, and what follows.
pub(crate) struct Entry<'a> {
    pub name: Ident,
    pub form: &'static str,
    pub input: ParseStream<'a>,
}

impl Entry<'_> {
    /// It was said before.
    pub fn twice(&self) -> Error {
        Error::new(self.name.span(), format!("`{}` is said twice", self.name))
    }

    /// Whether nothing follows the name.
    pub fn ends(&self) -> bool {
        self.input.is_empty() || self.input.peek(Token![,])
    }

    /// How it should have been written.
    pub fn misread(&self) -> Error {
        self.misread_at(if self.ends() { self.name.span() } else { self.input.span() })
    }

    /// The same, at a place inside it.
    pub fn misread_at(&self, at: Span) -> Error {
        let words = match self.name == self.form {
            true => format!("`{}` stands alone, without a value", self.name),
            false => format!("`{}` is written as `{}`", self.name, self.form),
        };
        Error::new(at, words)
    }

    /// A fault of its value.
    pub fn wrong(&self, at: Span, words: impl std::fmt::Display) -> Error {
        Error::new(at, format!("{} {words}", self.name))
    }

    /// The `=` before a value.
    pub fn equals(&self) -> Result<()> {
        self.input.parse::<Token![=]>().map(drop).map_err(|_| self.misread())
    }

    /// Anything that Rust has a word for, after `=`.
    pub fn parsed<T: syn::parse::Parse>(&self) -> Result<T> {
        self.equals()?;
        if self.ends() {
            return Err(self.misread());
        }
        self.input.parse().map_err(|fault| self.misread_at(fault.span()))
    }

    /// A text in quotes, after `=`.
    pub fn text(&self) -> Result<LitStr> {
        self.parsed()
    }

    /// One of these words, in quotes.
    pub fn word(&self, words: &[&'static str]) -> Result<usize> {
        let given = self.text()?;
        words.iter().position(|word| given.value() == *word).ok_or_else(|| {
            let text = given.value();
            self.wrong(
                given.span(),
                format!("cannot be `{}`{}", name::shown(&text), meant(&text, words)),
            )
        })
    }

    /// A name, by the rule for names.
    pub fn name_text(&self) -> Result<LitStr> {
        let given = self.text()?;
        self.check_name(&given)?;
        Ok(given)
    }

    fn check_name(&self, given: &LitStr) -> Result<()> {
        let text = given.value();
        name::fault(&text).map_or(Ok(()), |fault| {
            Err(self.wrong(given.span(), format!("`{}` {fault}", name::shown(&text))))
        })
    }

    /// Several names in brackets, each once; a single one needs none.
    pub fn names(&self, faults: &mut Faults) -> Result<Vec<LitStr>> {
        self.equals()?;
        let given: Vec<LitStr> = match self.input.peek(LitStr) {
            true => vec![self.input.parse()?],
            false => self.list(|input| input.parse())?,
        };
        let mut seen = HashSet::new();
        for name in &given {
            faults.keep(self.check_name(name));
            if !seen.insert(name.value()) {
                faults.at(name.span(), format!("`{}` is said twice", name.value()));
            }
        }
        Ok(given)
    }

    /// `[…, …]`, where `=` has been read.
    pub fn list<T>(&self, one: fn(ParseStream<'_>) -> Result<T>) -> Result<Vec<T>> {
        if !self.input.peek(syn::token::Bracket) {
            return Err(self.misread());
        }
        let content;
        syn::bracketed!(content in self.input);
        drained(&content, |content| {
            Ok(Punctuated::<T, Token![,]>::parse_terminated_with(content, one)?
                .into_iter()
                .collect())
        })
        .map_err(|fault| self.misread_at(fault.span()))
    }

    /// A whole number in this range, after `=`.
    pub fn number(&self, min: u64, max: u64) -> Result<u64> {
        self.equals()?;
        let minus: Option<Token![-]> = self.input.parse()?;
        if self.ends() {
            return Err(self.misread());
        }
        let given: LitInt = self.input.parse().map_err(|fault| self.misread_at(fault.span()))?;
        let digits = given.base10_digits();
        let number = given.base10_parse::<u64>().ok().filter(|_| given.suffix().is_empty());
        match number {
            Some(number) if minus.is_none() && (min..=max).contains(&number) => Ok(number),
            _ => {
                let sign = minus.map_or("", |_| "-");
                let words =
                    format!("is {sign}{digits}{}; it may be {min} to {max}", given.suffix());
                Err(self.wrong(given.span(), words))
            }
        }
    }

    /// A span of at least so many milliseconds, after `=`.
    pub fn span(&self, least_ms: u64) -> Result<u64> {
        span_of(&self.text()?, least_ms)
    }

    /// What stands in parentheses.
    pub fn inside<T>(&self, read: impl FnOnce(ParseStream<'_>) -> Result<T>) -> Result<T> {
        if !self.input.peek(syn::token::Paren) {
            return Err(self.misread());
        }
        let content;
        syn::parenthesized!(content in self.input);
        drained(&content, |content| {
            let value = read(content)?;
            if content.is_empty() { Ok(value) } else { Err(self.misread_at(content.span())) }
        })
    }
}

/// The milliseconds of a literal.
pub(crate) fn span_of(given: &LitStr, least_ms: u64) -> Result<u64> {
    let text = given.value();
    span::millis(&text, least_ms).map_err(|fault| Error::new(given.span(), fault.words(&text)))
}

/// What is left unread would be a second fault, in the parser's words.
fn drained<T>(
    content: &ParseBuffer<'_>,
    read: impl FnOnce(ParseStream<'_>) -> Result<T>,
) -> Result<T> {
    let result = read(content);
    let _: Result<TokenStream> = content.parse();
    result
}
