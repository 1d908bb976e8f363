//! Tokens and users.

use longshore::access::{MAX_USERS, NewToken, NewUser, TokenId, UserChange};
use longshore_server::hash_password;
use longshore_server::wire::{
    ChangeUserBody, MadeTokenView, NewTokenBody, NewUserBody, TokenView, TokensView, UserView,
    UsersView,
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
                let mut token = NewToken::new(&body.name, by);
                if let Some(role) = &body.role {
                    token = token.role(role);
                }
                token = body.rights.iter().fold(token, |token, right| token.right(right));
                if let Some(span) = body.expires_in {
                    token = token.expires_in(span.0);
                }
                let made = client.create_token(token).await?;
                Ok(MadeTokenView::new(&body.name, &made))
            }
            Door::Server(remote) => remote.read(&Ask::post(["tokens"]).json(&body)).await,
        }
    }

    /// All tokens, live ones first.
    pub async fn tokens(&self) -> Result<TokensView, Failure> {
        match self {
            Door::Database(client) => {
                let tokens = client.tokens().await?.into_iter().map(TokenView::from).collect();
                Ok(TokensView { tokens })
            }
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
                let mut user = NewUser::new(&body.name, password, by);
                if let Some(role) = &body.role {
                    user = user.role(role);
                }
                user = body.rights.iter().fold(user, |user, right| user.right(right));
                if !client.create_user(user).await? {
                    return Err(match client.users().await?.len() >= MAX_USERS {
                        true => {
                            let words =
                                format!("there are {MAX_USERS} users, the most there may be");
                            Failure::new(Exit::Conflict, words)
                        }
                        false => taken(&body.name),
                    });
                }
                self.user(&body.name).await
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
            Door::Database(client) => {
                let users = client.users().await?.into_iter().map(UserView::from).collect();
                Ok(UsersView { users })
            }
            Door::Server(remote) => remote.read(&Ask::get(["users"])).await,
        }
    }

    /// Changes a user.
    pub async fn change_user(&self, name: &str, body: ChangeUserBody) -> Result<UserView, Failure> {
        match self {
            Door::Database(client) => {
                let (now, _) = client.user(name).await?.ok_or_else(|| missing(name))?;
                let mut change = UserChange::default();
                if body.role.is_some() || body.rights.is_some() {
                    let role = body.role.unwrap_or(now.role);
                    change = change.grant(role, body.rights.unwrap_or(now.rights));
                }
                if let Some(disabled) = body.disabled {
                    change = change.disabled(disabled);
                }
                if let Some(password) = body.password {
                    change = change.password(hash_password(&password.0).map_err(Failure::usage)?);
                }
                if !client.change_user(name, change).await? {
                    return Err(missing(name));
                }
                self.user(name).await
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

    /// One user. The API has them in a list alone.
    async fn user(&self, name: &str) -> Result<UserView, Failure> {
        let lower = name.to_lowercase();
        let users = self.users().await?.users;
        users.into_iter().find(|user| user.name == lower).ok_or_else(|| missing(name))
    }
}

/// That it is not there is an answer.
fn was_there(done: Result<(), Failure>) -> Result<bool, Failure> {
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
