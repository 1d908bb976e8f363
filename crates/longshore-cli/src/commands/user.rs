//! `user`: who may sign in.

use std::io::{BufRead, IsTerminal};

use longshore::Timestamp;
use longshore_server::wire::{ChangeUserBody, NewUserBody, PasswordText, UserView};
use longshore_server::{Grant, check_password};
use serde_json::json;

use super::Context;
use super::trace::actor;
use crate::args::{ChangeUserArgs, CreateUserArgs, UserCommand};
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, json as print_json, table};

pub(super) async fn run(context: Context, command: UserCommand) -> Result<Exit, Failure> {
    match command {
        UserCommand::Create(args) => create(&context, args).await,
        UserCommand::List => list(&context).await,
        UserCommand::Change(args) => change(&context, args).await,
        UserCommand::Remove { name } => remove(&context, &name).await,
    }
}

async fn create(context: &Context, args: CreateUserArgs) -> Result<Exit, Failure> {
    let CreateUserArgs { name, role, rights, password_stdin } = args;
    Grant::read(role.as_deref(), &rights).map_err(Failure::usage)?;
    let door = Door::existing(context).await?;
    let body = NewUserBody { name, role, rights, password: password(password_stdin)? };
    let user = door.create_user(body, actor()).await?;
    show(context, &user, "is added")
}

async fn change(context: &Context, args: ChangeUserArgs) -> Result<Exit, Failure> {
    let ChangeUserArgs { name, role, rights, .. } = args;
    Grant::read(role.as_deref(), &rights).map_err(Failure::usage)?;
    let door = Door::existing(context).await?;
    let asked = args.password || args.password_stdin;
    let body = ChangeUserBody {
        password: if asked { Some(password(args.password_stdin)?) } else { None },
        role: role.map(Some),
        rights: (!rights.is_empty()).then_some(rights),
        disabled: (args.disable || args.enable).then_some(args.disable),
    };
    let user = door.change_user(&name, body).await?;
    show(context, &user, "is changed; within 5 s no session of it is left")
}

async fn remove(context: &Context, name: &str) -> Result<Exit, Failure> {
    Door::existing(context).await?.remove_user(name).await?;
    if context.json {
        print_json(&json!({ "name": name.to_lowercase(), "removed": true }))?;
    } else {
        data(&format!("{} is removed", name.to_lowercase()))?;
    }
    Ok(Exit::Ok)
}

async fn list(context: &Context) -> Result<Exit, Failure> {
    let all = Door::existing(context).await?.users().await?;
    if context.json {
        print_json(&all)?;
    } else {
        let now = Timestamp::now();
        let rows = all.users.iter().map(|user| row(user, now)).collect();
        table(["NAME", "STATE", "MAY", "CREATED", "BY", "SIGNED IN"], rows)?;
    }
    Ok(Exit::Ok)
}

fn row(user: &UserView, now: Timestamp) -> [String; 6] {
    let may: Vec<&str> = user.role.iter().chain(&user.rights).map(String::as_str).collect();
    [
        user.name.clone(),
        if user.disabled { "kept out" } else { "may sign in" }.to_owned(),
        may.join(" "),
        distance(user.created_at, now),
        user.created_by.clone(),
        user.signed_in_at.map_or("never".to_owned(), |at| distance(at, now)),
    ]
}

fn show(context: &Context, user: &UserView, what: &str) -> Result<Exit, Failure> {
    if context.json {
        print_json(user)?;
    } else {
        data(&format!("{} {what}", user.name))?;
    }
    Ok(Exit::Ok)
}

/// From a person twice, from a program once; never from a flag, which others on this machine can read.
fn password(from_stdin: bool) -> Result<PasswordText, Failure> {
    let text = match from_stdin {
        true => first_line()?,
        false if std::io::stdin().is_terminal() => asked()?,
        false => {
            let words = "there is no terminal to ask for the password on; use --password-stdin";
            return Err(Failure::usage(words));
        }
    };
    check_password(&text).map_err(Failure::usage)?;
    Ok(PasswordText(text))
}

fn first_line() -> Result<String, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::usage(format!("could not read the password: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn asked() -> Result<String, Failure> {
    let ask = |prompt| {
        rpassword::prompt_password(prompt)
            .map_err(|error| Failure::usage(format!("could not ask for the password: {error}")))
    };
    let (first, second) = (ask("Password: ")?, ask("Once more: ")?);
    if first != second {
        return Err(Failure::usage("the two are not the same; nothing was done"));
    }
    Ok(first)
}
