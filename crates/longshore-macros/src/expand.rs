//! From a type and its options to `impl Job`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Ident, Path, parse_quote};

use crate::fields;
use crate::options::Options;
use crate::read::Faults;

/// As `longshore::NewJob` has it.
const MAX_REDACTED: usize = 64;

/// The implementation, or everything that is wrong.
///
/// With what is wrong comes an implementation all the same, so that the handlers of the type are not
/// faults too.
pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut faults = Faults::default();
    if let Some(refusal) = refusal(input) {
        return refusal.to_compile_error();
    }
    let mut options = Options::read(&input.attrs, &mut faults);
    if !options.kind_is_said {
        let words = format!(
            "a job needs a kind, its name in the database: write `#[job(kind = \"{}\")]`",
            snake(&input.ident)
        );
        faults.at(input.ident.span(), words);
    }
    let redacted = fields::redacted(input, &mut faults);
    let hidden = fields::all_names(&redacted, &options.redact);
    if hidden.len() > MAX_REDACTED {
        let words = format!("redact has {} entries; the limit is {MAX_REDACTED}", hidden.len());
        faults.at(input.ident.span(), words);
    }
    if let Some(unique) = &mut options.unique {
        let fields = match &input.data {
            Data::Struct(data) => Some(&data.fields),
            Data::Enum(_) | Data::Union(_) => None,
        };
        unique.check(fields, &redacted, &mut faults);
    }
    let implementation = implementation(&input.ident, &options, &hidden);
    let faults = faults.end().err().map(|faults| faults.to_compile_error());
    quote!(#implementation #faults)
}

/// Types that can be no job at all.
fn refusal(input: &DeriveInput) -> Option<syn::Error> {
    if let Data::Union(data) = &input.data {
        let words = "a union has no JSON, so it can be no job; make it a struct or an enum";
        return Some(syn::Error::new(data.union_token.span, words));
    }
    let first = input.generics.params.first()?;
    let words = format!(
        "a job is one type with one kind, and owns its data: `{}` cannot have parameters",
        input.ident
    );
    Some(syn::Error::new_spanned(first, words))
}

fn implementation(name: &Ident, options: &Options, hidden: &[String]) -> TokenStream {
    let krate: Path = options.krate.clone().unwrap_or_else(|| parse_quote!(::longshore));
    let kind = options.kind.clone().unwrap_or_else(|| syn::LitStr::new("", Span::call_site()));
    let output = options.output.clone().unwrap_or_else(|| parse_quote!(()));
    let aliases = (!options.aliases.is_empty()).then(|| {
        let aliases = &options.aliases;
        quote!(const ALIASES: &'static [&'static str] = &[#(#aliases),*];)
    });
    let version = options.version.map(|version| quote!(const VERSION: u32 = #version;));
    let hidden = (!hidden.is_empty())
        .then(|| quote!(const REDACTED: &'static [&'static str] = &[#(#hidden),*];));
    let upgrade = options.upgrade.as_ref().map(|function| {
        let call = quote_spanned!(function.span()=> #function(from, payload));
        quote! {
            fn upgrade(
                from: u32,
                payload: ::std::boxed::Box<str>,
            ) -> ::core::result::Result<::std::boxed::Box<str>, #krate::job::BoxError> {
                #call
            }
        }
    });
    let schema = options.schema.map(|at| {
        let text = quote_spanned!(at=> #krate::job::schema_of::<Self>());
        quote! {
            fn schema() -> ::core::option::Option<::std::string::String> {
                ::core::option::Option::Some(#text)
            }
        }
    });
    let calls = options.calls(&krate);
    let builder = (!calls.is_empty()).then(|| {
        quote! {
            fn options(&self, job: #krate::NewJob) -> #krate::NewJob {
                job #calls
            }
        }
    });
    let backoff = options.backoff_with.as_ref().map(|function| {
        // At the function's place, so that one that does not fit is shown there.
        let call = quote_spanned!(function.span()=> #function(failure));
        quote! {
            fn backoff(
                failure: &#krate::Failure<'_>,
            ) -> ::core::option::Option<::core::time::Duration> {
                #call
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #krate::Job for #name {
            const KIND: &'static str = #kind;
            type Output = #output;
            #aliases
            #version
            #hidden
            #upgrade
            #schema
            #builder
            #backoff
        }
    }
}

/// `SendEmail` -> `send_email`
fn snake(name: &Ident) -> String {
    let mut snake = String::new();
    for c in name.to_string().trim_start_matches("r#").chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}
