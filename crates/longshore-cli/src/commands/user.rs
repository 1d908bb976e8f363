//! `user`: who may sign in.

use std::io::{BufRead, IsTerminal};

use longshore::Timestamp;
use longshore::access::{MAX_USERS, NewUser, PasswordHash, UserChange, UserRow};
use longshore_server::wire::UserView;
use longshore_server::{Grant, hash_password};
use serde_json::json;

use super::Context;
use super::trace::actor;
use crate::args::{ChangeUserArgs, CreateUserArgs, UserCommand};
use crate::connect::open_existing;
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
    Grant::read(args.role.as_deref(), &args.rights).map_err(Failure::usage)?;
    let client = open_existing(&context.settings).await?;
    let mut user = NewUser::new(&args.name, password(args.password_stdin)?, actor());
    if let Some(role) = &args.role {
        user = user.role(role);
    }
    user = args.rights.iter().fold(user, |user, right| user.right(right));
    if !client.create_user(user).await? {
        let words = match client.users().await?.len() >= MAX_USERS {
            true => format!("there are {MAX_USERS} users, the most there may be"),
            false => format!("there is a user of the name {}", args.name.to_lowercase()),
        };
        return Err(Failure::new(Exit::Conflict, words));
    }
    show(context, &args.name, "is added").await
}

async fn change(context: &Context, args: ChangeUserArgs) -> Result<Exit, Failure> {
    Grant::read(args.role.as_deref(), &args.rights).map_err(Failure::usage)?;
    let client = open_existing(&context.settings).await?;
    let (now, _) = client.user(&args.name).await?.ok_or_else(|| missing(&args.name))?;
    let mut change = UserChange::default();
    if args.role.is_some() || !args.rights.is_empty() {
        let rights = if args.rights.is_empty() { now.rights } else { args.rights };
        change = change.grant(args.role.or(now.role), rights);
    }
    if args.disable || args.enable {
        change = change.disabled(args.disable);
    }
    if args.password || args.password_stdin {
        change = change.password(password(args.password_stdin)?);
    }
    if !client.change_user(&args.name, change).await? {
        return Err(missing(&args.name));
    }
    show(context, &args.name, "is changed; within 5 s no session of it is left").await
}

async fn remove(context: &Context, name: &str) -> Result<Exit, Failure> {
    if !open_existing(&context.settings).await?.remove_user(name).await? {
        return Err(missing(name));
    }
    if context.json {
        print_json(&json!({ "name": name.to_lowercase(), "removed": true }))?;
    } else {
        data(&format!("{} is removed", name.to_lowercase()))?;
    }
    Ok(Exit::Ok)
}

async fn list(context: &Context) -> Result<Exit, Failure> {
    let users = open_existing(&context.settings).await?.users().await?;
    if context.json {
        let users: Vec<UserView> = users.into_iter().map(UserView::from).collect();
        print_json(&json!({ "users": users }))?;
    } else {
        let now = Timestamp::now();
        let rows = users.iter().map(|user| row(user, now)).collect();
        table(["NAME", "STATE", "MAY", "CREATED", "BY", "SIGNED IN"], rows)?;
    }
    Ok(Exit::Ok)
}

fn row(user: &UserRow, now: Timestamp) -> [String; 6] {
    let may: Vec<&str> = user.role.iter().chain(&user.rights).map(String::as_str).collect();
    [
        user.name.clone(),
        if user.disabled_at.is_some() { "kept out" } else { "may sign in" }.to_owned(),
        may.join(" "),
        distance(user.created_at, now),
        user.created_by.clone(),
        user.signed_in_at.map_or("never".to_owned(), |at| distance(at, now)),
    ]
}

async fn show(context: &Context, name: &str, what: &str) -> Result<Exit, Failure> {
    if context.json {
        let user = open_existing(&context.settings).await?.user(name).await?;
        let (user, _) = user.ok_or_else(|| missing(name))?;
        print_json(&UserView::from(user))?;
    } else {
        data(&format!("{} {what}", name.to_lowercase()))?;
    }
    Ok(Exit::Ok)
}

fn missing(name: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("there is no user of the name {}", name.to_lowercase()))
}

/// From a person twice, from a program once; never from a flag, which others on this machine can read.
fn password(from_stdin: bool) -> Result<PasswordHash, Failure> {
    let text = match from_stdin {
        true => first_line()?,
        false if std::io::stdin().is_terminal() => asked()?,
        false => {
            let words = "there is no terminal to ask for the password on; use --password-stdin";
            return Err(Failure::usage(words));
        }
    };
    hash_password(&text).map_err(Failure::usage)
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
