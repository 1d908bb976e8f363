//! Tokens and users.

use longshore::Client;
use longshore::access::{MAX_USERS, TokenId, UserRow};
use longshore_server::hash_password;
use longshore_server::wire::{
    ChangeUserBody, MadeTokenView, NewTokenBody, NewUserBody, TokensView, UserView, UsersView,
};

use super::Door;
use crate::exit::{Exit, Failure};
use crate::remote::Ask;

impl Door {
    /// Makes a token. `by`: who works here.
    pub async fn create_token(
        &self,
        body: NewTokenBody,
        by: String,
    ) -> Result<MadeTokenView, Failure> {
        match self {
            Door::Database(client) => {
                let made = client.create_token(body.token(by)).await?;
                Ok(MadeTokenView::new(&body.name, &made))
            }
            Door::Server(remote) => remote.read(&Ask::post(["tokens"]).json(&body)).await,
        }
    }

    /// All tokens, live ones first.
    pub async fn tokens(&self) -> Result<TokensView, Failure> {
        match self {
            Door::Database(client) => Ok(client.tokens().await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["tokens"])).await,
        }
    }

    /// Ends a token; whether there was one.
    pub async fn revoke_token(&self, id: TokenId) -> Result<bool, Failure> {
        match self {
            Door::Database(client) => Ok(client.revoke_token(id).await?),
            Door::Server(remote) => {
                was_there(remote.done(&Ask::delete(["tokens", &id.to_string()])).await)
            }
        }
    }

    /// Adds a user.
    pub async fn create_user(&self, body: NewUserBody, by: String) -> Result<UserView, Failure> {
        match self {
            Door::Database(client) => {
                let password = hash_password(&body.password.0).map_err(Failure::usage)?;
                if !client.create_user(body.user(password, by)).await? {
                    return Err(match client.users().await?.len() >= MAX_USERS {
                        true => {
                            let words =
                                format!("there are {MAX_USERS} users, the most there may be");
                            Failure::new(Exit::Conflict, words)
                        }
                        false => taken(&body.name),
                    });
                }
                Ok(user(client, &body.name).await?.into())
            }
            Door::Server(remote) => {
                let added = remote.read(&Ask::post(["users"]).json(&body)).await;
                added.map_err(|failure: Failure| match failure.exit {
                    Exit::Conflict => taken(&body.name),
                    _ => failure,
                })
            }
        }
    }

    /// All users, by name.
    pub async fn users(&self) -> Result<UsersView, Failure> {
        match self {
            Door::Database(client) => Ok(client.users().await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["users"])).await,
        }
    }

    /// Changes a user.
    pub async fn change_user(&self, name: &str, body: ChangeUserBody) -> Result<UserView, Failure> {
        match self {
            Door::Database(client) => {
                let now = user(client, name).await?;
                let password = body.password.as_ref().map(|password| hash_password(&password.0));
                let password = password.transpose().map_err(Failure::usage)?;
                if !client.change_user(name, body.change(&now, password)).await? {
                    return Err(missing(name));
                }
                Ok(user(client, name).await?.into())
            }
            Door::Server(remote) => {
                let changed = remote.read(&Ask::patch(["users", name]).json(&body)).await;
                changed.map_err(|failure: Failure| match failure.exit {
                    Exit::NotFound => missing(name),
                    _ => failure,
                })
            }
        }
    }

    /// Removes a user.
    pub async fn remove_user(&self, name: &str) -> Result<(), Failure> {
        let removed = match self {
            Door::Database(client) => client.remove_user(name).await?,
            Door::Server(remote) => was_there(remote.done(&Ask::delete(["users", name])).await)?,
        };
        if removed { Ok(()) } else { Err(missing(name)) }
    }
}

async fn user(client: &Client, name: &str) -> Result<UserRow, Failure> {
    client.user(name).await?.map(|(user, _)| user).ok_or_else(|| missing(name))
}

/// That it is not there is an answer.
pub(super) fn was_there(done: Result<(), Failure>) -> Result<bool, Failure> {
    match done {
        Ok(()) => Ok(true),
        Err(failure) if failure.exit == Exit::NotFound => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn taken(name: &str) -> Failure {
    let words = format!("there is a user of the name {}", name.to_lowercase());
    Failure::new(Exit::Conflict, words)
}

fn missing(name: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("there is no user of the name {}", name.to_lowercase()))
}
