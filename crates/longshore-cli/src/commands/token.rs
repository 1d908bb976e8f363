//! `token`: who may use the API.

use longshore::access::{MadeToken, NewToken, TokenId};
use longshore::{Client, Timestamp};
use longshore_server::Grant;
use longshore_server::wire::{MadeTokenView, TokenView};
use serde_json::json;

use super::Context;
use super::trace::actor;
use crate::args::{CreateTokenArgs, TokenCommand};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json as print_json, table};

pub(super) async fn run(context: Context, command: TokenCommand) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create(args) => create(&context, args).await,
        TokenCommand::List => list(&context, &open_existing(&context.settings).await?).await,
        TokenCommand::Revoke { id } => revoke(&context, &id).await,
    }
}

async fn create(context: &Context, args: CreateTokenArgs) -> Result<Exit, Failure> {
    Grant::read(args.role.as_deref(), &args.rights).map_err(Failure::usage)?;
    let mut token = NewToken::new(&args.name, actor());
    if let Some(role) = &args.role {
        token = token.role(role);
    }
    token = args.rights.iter().fold(token, |token, right| token.right(right));
    if let Some(span) = args.expires {
        token = token.expires_in(span.0);
    }
    let made = open_existing(&context.settings).await?.create_token(token).await?;
    tell(context, &args.name, &made)?;
    Ok(Exit::Ok)
}

/// The secret alone is data, so that a script can keep it.
fn tell(context: &Context, name: &str, made: &MadeToken) -> Result<(), Failure> {
    let secret = made.secret.reveal();
    if context.json {
        return print_json(&MadeTokenView::new(name, made));
    }
    eprintln!("Made token {}. Keep its secret now; it is not shown again.", made.id);
    data(secret)
}

async fn list(context: &Context, client: &Client) -> Result<Exit, Failure> {
    let tokens = client.tokens().await?;
    if context.json {
        let tokens: Vec<TokenView> = tokens.into_iter().map(TokenView::from).collect();
        print_json(&json!({ "tokens": tokens }))?;
    } else {
        let now = Timestamp::now();
        let rows = tokens.into_iter().map(|token| row(token.into(), now)).collect();
        table(
            ["ID", "NAME", "BEGINS", "STATE", "GIVES", "CREATED", "BY", "EXPIRES", "USED"],
            rows,
        )?;
    }
    Ok(Exit::Ok)
}

async fn revoke(context: &Context, id: &str) -> Result<Exit, Failure> {
    // Not by clap, whose error would repeat it: it may be the secret, given by mistake.
    let id: TokenId = id.parse().map_err(Failure::usage)?;
    let client = open_existing(&context.settings).await?;
    if !client.revoke_token(id).await? {
        return Err(Failure::new(Exit::NotFound, format!("no token has id {id}")));
    }
    if context.json {
        print_json(&json!({ "id": id.to_string(), "revoked": true }))?;
    } else {
        data(&format!("{id} is revoked; within 5 s it works nowhere"))?;
    }
    Ok(Exit::Ok)
}

fn row(token: TokenView, now: Timestamp) -> [String; 9] {
    let when = |at: Option<Timestamp>| at.map_or("never".to_owned(), |at| distance(at, now));
    let gives: Vec<&str> = token.role.iter().chain(&token.rights).map(String::as_str).collect();
    let gives = gives.join(" ");
    [
        token.id,
        token.name,
        format!("{}…", token.prefix),
        token.state,
        gives,
        distance(token.created_at, now),
        token.created_by,
        when(token.expires_at),
        when(token.last_used_at),
    ]
}
