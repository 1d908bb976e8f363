//! `token`: who may use the API.

use longshore::Timestamp;
use longshore::access::TokenId;
use longshore_server::Grant;
use longshore_server::wire::{MadeTokenView, NewTokenBody, TokenView};
use serde_json::json;

use super::Context;
use super::trace::actor;
use crate::args::{CreateTokenArgs, TokenCommand};
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json as print_json, table};

pub(super) async fn run(context: Context, command: TokenCommand) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create(args) => create(&context, args).await,
        TokenCommand::List => list(&context).await,
        TokenCommand::Revoke { id } => revoke(&context, &id).await,
    }
}

async fn create(context: &Context, args: CreateTokenArgs) -> Result<Exit, Failure> {
    let CreateTokenArgs { name, role, rights, expires } = args;
    Grant::read(role.as_deref(), &rights).map_err(Failure::usage)?;
    let body = NewTokenBody { name, role, rights, expires_in: expires };
    let made = Door::existing(context).await?.create_token(body, actor()).await?;
    tell(context, &made)?;
    Ok(Exit::Ok)
}

/// The secret alone is data, so that a script can keep it.
fn tell(context: &Context, made: &MadeTokenView) -> Result<(), Failure> {
    if context.json {
        return print_json(made);
    }
    eprintln!("Made token {}. Keep its secret now; it is not shown again.", made.id);
    data(&made.secret)
}

async fn list(context: &Context) -> Result<Exit, Failure> {
    let all = Door::existing(context).await?.tokens().await?;
    if context.json {
        print_json(&all)?;
    } else {
        let now = Timestamp::now();
        let rows = all.tokens.into_iter().map(|token| row(token, now)).collect();
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
    if !Door::existing(context).await?.revoke_token(id).await? {
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
