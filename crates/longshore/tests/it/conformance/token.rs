//! Tokens: found by the hash of their secret, live until they expire or are revoked.

use longshore::access::{MAX_TOKENS, NewToken, Secret};
use longshore::{Client, StoreError};

use crate::harness::*;

/// A client of its own on the same database, with the test's clock.
pub async fn client(t: &Harness) -> Client {
    let options = t.database.options(t.clock.clone());
    Client::open_with(&t.database.url(), options, Default::default()).await.expect("it opens")
}

pub async fn a_token_is_found_by_its_secret_alone(t: Harness) {
    let client = client(&t).await;
    let asked = NewToken::new("deploy", "cli:ada").role("viewer").right("jobs:retry").right("ö'\"");
    let made = client.create_token(asked).await.expect("a token");

    let found = client.token(&made.secret).await.unwrap().expect("it is found");
    assert_eq!((found.id, found.live, found.created_at), (made.id, true, made.created_at));
    assert_eq!((&*found.name, &*found.created_by), ("deploy", "cli:ada"));
    assert_eq!(found.role.as_deref(), Some("viewer"));
    assert_eq!(found.rights, ["jobs:retry", "ö'\""]);
    assert_eq!((found.expires_at, found.last_used_at, found.revoked_at), (None, None, None));
    assert!(made.secret.reveal().starts_with(&found.prefix) && found.prefix.len() == 10);
    assert_eq!(client.tokens().await.unwrap(), [found]);

    let other = made.secret.reveal().replace(['0', '1', '2'], "f");
    assert_eq!(client.token(&Secret::read(&other).unwrap()).await.unwrap(), None);
    // Nothing that is kept leads back to the secret.
    let hex = if t.is_sqlite() { "lower(hex(hash))" } else { "encode(hash, 'hex')" };
    let kept = t.number(format!(
        "SELECT count(*) FROM {} WHERE {hex} = '{}'",
        t.table("token"),
        &made.secret.reveal()[4..]
    ));
    assert_eq!(kept.await, 0);
    client.close().await;
}

pub async fn a_token_expires_at_its_time_and_a_revoked_one_stays_revoked(t: Harness) {
    let client = client(&t).await;
    let short = NewToken::new("short", "x").role("admin").expires_in(MINUTE);
    let short = client.create_token(short).await.unwrap();
    let long = client.create_token(NewToken::new("long", "x").role("admin")).await.unwrap();
    let live = async |secret: &Secret| client.token(secret).await.unwrap().unwrap().live;
    assert!(live(&short.secret).await && live(&long.secret).await);

    t.advance(MINUTE - MILLI);
    assert!(live(&short.secret).await);
    t.advance(MILLI);
    assert!(!live(&short.secret).await);

    assert!(client.revoke_token(long.id).await.unwrap());
    let first = client.token(&long.secret).await.unwrap().unwrap();
    assert!(!first.live && first.revoked_at.is_some());
    t.advance(MINUTE);
    assert!(client.revoke_token(long.id).await.unwrap(), "a repeat does no harm");
    assert_eq!(client.token(&long.secret).await.unwrap().unwrap().revoked_at, first.revoked_at);
    let unknown = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10".parse().unwrap();
    assert!(!client.revoke_token(unknown).await.unwrap());
    client.close().await;
}

pub async fn a_use_is_noted_once_a_minute(t: Harness) {
    let client = client(&t).await;
    let made = client.create_token(NewToken::new("n", "x")).await.unwrap();
    let used = async || client.token(&made.secret).await.unwrap().unwrap().last_used_at;

    client.touch_token(made.id).await.unwrap();
    let first = used().await.expect("it was used");
    t.advance(MINUTE - MILLI);
    client.touch_token(made.id).await.unwrap();
    assert_eq!(used().await, Some(first));
    t.advance(MILLI);
    client.touch_token(made.id).await.unwrap();
    assert_eq!(used().await, Some(first.plus(MINUTE)));
    client.close().await;
}

pub async fn live_tokens_come_first(t: Harness) {
    let client = client(&t).await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(client.create_token(NewToken::new(name, "x")).await.unwrap().id);
    }
    client.revoke_token(ids[2]).await.unwrap();
    let listed: Vec<_> = client.tokens().await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(listed, [ids[1], ids[0], ids[2]]);
    client.close().await;
}

pub async fn there_are_only_so_many_live_tokens(t: Harness) {
    let client = client(&t).await;
    let made = client.create_token(NewToken::new("first", "x")).await.unwrap();
    // The rest by hand: each commit of a thousand would wait for the disk.
    let (table, left) = (t.table("token"), MAX_TOKENS - 1);
    t.execute(if t.is_sqlite() {
        format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {left})
             INSERT INTO {table} (id, name, hash, prefix, rights, created_at, created_by)
             SELECT randomblob(16), 'n', randomblob(32), 'lsh_', '[]', 0, 'x' FROM n"
        )
    } else {
        format!(
            "insert into {table} (id, name, hash, prefix, rights, created_at, created_by)
             select gen_random_uuid(), 'n', sha256(i::text::bytea), 'lsh_', '{{}}', now(), 'x'
             from generate_series(1, {left}) i"
        )
    })
    .await;

    let refused = client.create_token(NewToken::new("one too many", "x")).await;
    let Err(error @ StoreError::Invalid(_)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("tokens has 1001 entries; the limit is 1000"), "{error}");

    client.revoke_token(made.id).await.unwrap();
    client.create_token(NewToken::new("in its place", "x")).await.expect("there is room again");
    client.close().await;
}

pub async fn a_token_without_a_good_name_is_refused(t: Harness) {
    let client = client(&t).await;
    for name in ["", " x", "a\nb"] {
        let refused = client.create_token(NewToken::new(name, "x")).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    assert_eq!(client.tokens().await.unwrap(), []);
    client.close().await;
}
