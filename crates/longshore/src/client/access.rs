//! Who may come in from outside: tokens, users, and their sessions.

use super::Client;
use crate::access::{
    MadeSession, MadeToken, NewSession, NewToken, NewUser, PasswordHash, Secret, SessionId,
    SessionRow, TokenId, TokenRow, UserChange, UserRow,
};
use crate::store::Result;

impl Client {
    /// Makes a token. Its secret is in the answer and nowhere else. [`crate::StoreError::Invalid`] for a name that
    /// cannot be, or when [`crate::access::MAX_TOKENS`] others are live. The words of its role and rights
    /// are taken as they are: whoever checks them later gives nothing for a word that they do not know.
    pub async fn create_token(&self, token: NewToken) -> Result<MadeToken> {
        token.check()?;
        let (mut token, secret) = token.with_secret()?;
        let (id, hash) = (token.id, secret.hash());
        let kept = self.call(move |store| async move {
            if let Some(span) = token.expires_in {
                token.expires_at = Some(store.now().await?.plus(span));
            }
            Ok((store.add_token(&token, hash).await?, token.expires_at))
        });
        let (created_at, expires_at) = kept.await?;
        Ok(MadeToken { id, secret, created_at, expires_at })
    }

    /// The tokens, live ones first, newest first; at most [`crate::access::MAX_TOKENS`].
    pub async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.call(|store| async move { store.tokens().await }).await
    }

    /// The token with this secret, live or not; `None` if there is none.
    pub async fn token(&self, secret: &Secret) -> Result<Option<TokenRow>> {
        let hash = secret.hash();
        self.call(move |store| async move { store.token(hash).await }).await
    }

    /// Notes that a token is used now; written at most once a minute.
    pub async fn touch_token(&self, id: TokenId) -> Result<()> {
        self.call(move |store| async move { store.touch_token(id).await }).await
    }

    /// Revokes a token, for good; whether there is one with this id. Again changes nothing.
    pub async fn revoke_token(&self, id: TokenId) -> Result<bool> {
        self.call(move |store| async move { store.revoke_token(id).await }).await
    }

    /// Adds a user; `false` if the name is taken, or if there are [`crate::access::MAX_USERS`] others.
    /// [`crate::StoreError::Invalid`] for a name that cannot be.
    pub async fn create_user(&self, user: NewUser) -> Result<bool> {
        user.check()?;
        self.call(move |store| async move { store.add_user(&user).await }).await
    }

    /// The users by name; at most [`crate::access::MAX_USERS`].
    pub async fn users(&self) -> Result<Vec<UserRow>> {
        self.call(|store| async move { store.users().await }).await
    }

    /// The user of this name, whatever the case of its letters, and the password's hash.
    pub async fn user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>> {
        let name = name.to_lowercase();
        self.call(move |store| async move { store.user(&name).await }).await
    }

    /// Changes a user, and ends all sessions of it; whether there is one of this name.
    pub async fn change_user(&self, name: &str, change: UserChange) -> Result<bool> {
        change.check()?;
        let name = name.to_lowercase();
        self.call(move |store| async move { store.change_user(&name, &change).await }).await
    }

    /// Removes a user with all sessions of it; whether there was one of this name.
    pub async fn remove_user(&self, name: &str) -> Result<bool> {
        let name = name.to_lowercase();
        self.call(move |store| async move { store.remove_user(&name).await }).await
    }

    /// Signs a user in whose password was compared; `None` if the user is gone, kept out, or has another
    /// password by now. The session's secret is in the answer and nowhere else.
    pub async fn sign_in(&self, session: NewSession) -> Result<Option<MadeSession>> {
        let (id, secret) = (session.id, Secret::fresh()?);
        let hash = secret.hash();
        let kept = self.call(move |store| async move { store.add_session(&session, hash).await });
        Ok(kept.await?.map(|expires_at| MadeSession { id, secret, expires_at }))
    }

    /// The session with this secret, live or not; `None` if there is none.
    pub async fn session(&self, secret: &Secret) -> Result<Option<SessionRow>> {
        let hash = secret.hash();
        self.call(move |store| async move { store.session(hash).await }).await
    }

    /// Sessions, newest first; at most 1,000.
    pub async fn sessions(&self) -> Result<Vec<SessionRow>> {
        self.call(|store| async move { store.sessions().await }).await
    }

    /// Notes that a session is used now; written at most once a minute.
    pub async fn touch_session(&self, id: SessionId) -> Result<()> {
        self.call(move |store| async move { store.touch_session(id).await }).await
    }

    /// Ends a session; whether there was one with this id.
    pub async fn end_session(&self, id: SessionId) -> Result<bool> {
        self.call(move |store| async move { store.end_session(id).await }).await
    }
}
