//! Tokens of the API: made, looked up, revoked.

use super::Client;
use crate::access::{MadeToken, NewToken, Secret, TokenId, TokenRow};
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
}
