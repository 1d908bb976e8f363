//! `#[longshore::test]`: an async function that takes a store becomes one test, or one for each database.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Path, Result, Token, Visibility, parenthesized, parse2};

pub fn expand(options: TokenStream, function: TokenStream) -> TokenStream {
    let read = parse2::<Options>(options).and_then(|options| {
        let function = parse2::<Function>(function)?;
        Ok(write(&options, &function))
    });
    read.unwrap_or_else(|error| error.into_compile_error())
}

/// What stands in the brackets.
struct Options {
    on: On,
    library: Path,
}

#[derive(Clone, Copy)]
enum On {
    Sqlite,
    Postgres,
    Both,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Options> {
        let mut options = Options { on: On::Sqlite, library: syn::parse_quote!(::longshore) };
        while !input.is_empty() {
            if input.peek(Token![crate]) {
                input.parse::<Token![crate]>()?;
                input.parse::<Token![=]>()?;
                options.library = input.call(Path::parse_mod_style)?;
            } else {
                let word: Ident = input.parse()?;
                options.on = match word.to_string().as_str() {
                    "sqlite" => On::Sqlite,
                    "postgres" => On::Postgres,
                    "both" => On::Both,
                    _ => {
                        let text = format!(
                            "`{word}` is no database; write `sqlite`, `postgres`, `both`, or nothing for SQLite"
                        );
                        return Err(Error::new(word.span(), text));
                    }
                };
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// The function, as far as it has to be known; what its body says is the compiler's to read.
struct Function {
    attributes: Vec<Attribute>,
    name: Ident,
    /// From `async` on.
    whole: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Function> {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let ahead = input.fork();
        if !ahead.peek(Token![async]) {
            return Err(ahead.error("a test of jobs is an `async fn`"));
        }
        ahead.parse::<Token![async]>()?;
        ahead.parse::<Token![fn]>()?;
        let name: Ident = ahead.parse()?;
        let arguments;
        parenthesized!(arguments in ahead);
        if arguments.is_empty() {
            let text = format!("it takes the store: `async fn {name}(store: TestStore)`");
            return Err(Error::new(name.span(), text));
        }
        Ok(Function { attributes, name, whole: input.parse()? })
    }
}

fn write(options: &Options, function: &Function) -> TokenStream {
    let Function { attributes, name, whole } = function;
    let library = &options.library;
    let test = |name: TokenStream, on: TokenStream, before: TokenStream, inner: TokenStream| {
        quote! {
            #(#attributes)*
            #[::core::prelude::v1::test]
            fn #name() {
                #before
                #library::testing::run(#library::testing::On::#on, #inner)
            }
        }
    };
    let alone = |on: TokenStream| test(quote!(#name), on, whole.clone(), quote!(#name));
    match options.on {
        On::Sqlite => alone(quote!(Sqlite)),
        On::Postgres => alone(quote!(Postgres)),
        On::Both => {
            let of = |place: TokenStream, on: TokenStream| {
                test(place, on, TokenStream::new(), quote!(super::#name))
            };
            let (sqlite, postgres) =
                (of(quote!(sqlite), quote!(Sqlite)), of(quote!(postgres), quote!(Postgres)));
            // A function and a module may have one name.
            quote_spanned! { name.span() =>
                #[cfg(test)]
                #whole
                #[cfg(test)]
                mod #name { #sqlite #postgres }
            }
        }
    }
}
