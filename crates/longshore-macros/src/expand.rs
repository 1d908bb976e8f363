//! From a type and its options to `impl Job`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, Path, parse_quote};

use crate::options::Options;
use crate::read::Faults;

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
    refuse_inner_options(input, &mut faults);
    if let Some(unique) = &mut options.unique {
        let fields = match &input.data {
            Data::Struct(data) => Some(&data.fields),
            Data::Enum(_) | Data::Union(_) => None,
        };
        unique.check(fields, &mut faults);
    }
    let implementation = implementation(&input.ident, &options);
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

/// On a field or a variant nothing may be said; unheeded, it would be a trap.
fn refuse_inner_options(input: &DeriveInput, faults: &mut Faults) {
    let refuse = |attributes: &[Attribute], faults: &mut Faults| {
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("job")) {
            faults.add(syn::Error::new_spanned(
                attribute.path(),
                "options of a job stand on its type, above `struct` or `enum`",
            ));
        }
    };
    let of_fields = |fields: &Fields, faults: &mut Faults| {
        fields.iter().for_each(|field| refuse(&field.attrs, faults));
    };
    match &input.data {
        Data::Struct(data) => of_fields(&data.fields, faults),
        Data::Enum(data) => {
            for variant in &data.variants {
                refuse(&variant.attrs, faults);
                of_fields(&variant.fields, faults);
            }
        }
        Data::Union(_) => {}
    }
}

fn implementation(name: &Ident, options: &Options) -> TokenStream {
    let krate: Path = options.krate.clone().unwrap_or_else(|| parse_quote!(::longshore));
    let kind = options.kind.clone().unwrap_or_else(|| syn::LitStr::new("", Span::call_site()));
    let output = options.output.clone().unwrap_or_else(|| parse_quote!(()));
    let aliases = (!options.aliases.is_empty()).then(|| {
        let aliases = &options.aliases;
        quote!(const ALIASES: &'static [&'static str] = &[#(#aliases),*];)
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
