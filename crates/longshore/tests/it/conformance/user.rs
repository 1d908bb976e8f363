//! People who sign in: one user to a name, and sessions that end with whatever changes about their user.

use std::time::Duration;

use longshore::Client;
use longshore::access::{
    NewSession, NewUser, PasswordHash, SESSION_IDLE, SESSION_LASTS, Secret, UserChange,
};

use super::token::client;
use crate::harness::*;

fn hash(text: &str) -> PasswordHash {
    PasswordHash::new(text)
}

async fn ada(client: &Client) {
    let ada = NewUser::new("Ada", hash("$a"), "cli:root").role("operator").right("jobs:delete");
    assert!(client.create_user(ada).await.unwrap());
}

async fn signed_in(client: &Client) -> Secret {
    let session = NewSession::new("ada", hash("$a")).address("192.0.2.7");
    client.sign_in(session).await.unwrap().expect("a session").secret
}

async fn lives(client: &Client, secret: &Secret) -> bool {
    client.session(secret).await.unwrap().is_some_and(|session| session.live)
}

pub async fn a_name_has_one_user_whatever_its_case(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    assert!(!client.create_user(NewUser::new("aDA", hash("$b"), "x").role("admin")).await.unwrap());
    let (user, password) = client.user("ADA").await.unwrap().expect("there she is");
    assert_eq!((&*user.name, &*user.created_by), ("ada", "cli:root"));
    assert_eq!(
        (user.role.as_deref(), user.rights.as_slice()),
        (Some("operator"), &["jobs:delete".to_owned()][..])
    );
    assert_eq!((user.disabled_at, user.signed_in_at), (None, None));
    assert_eq!(password, hash("$a"));
    assert!(!format!("{password:?}").contains("$a"));
    assert_eq!(client.users().await.unwrap(), [user]);
    assert!(client.user("bob").await.unwrap().is_none());

    for name in ["", " a", "a\nb", &"x".repeat(256)] {
        let error = client.create_user(NewUser::new(name, hash("$"), "x")).await.unwrap_err();
        assert!(error.to_string().contains("name"), "{error}");
    }
    let long = hash(&"x".repeat(513));
    let error = client.create_user(NewUser::new("c", long, "x")).await.unwrap_err();
    assert!(error.to_string().contains("password"), "{error}");
    client.close().await;
}

pub async fn a_user_is_added_once_though_the_reply_was_lost(t: Harness) {
    let user = NewUser::new("ada", hash("$a"), "x").role("viewer");
    assert!(t.store.add_user(&user).await.unwrap());
    assert!(t.store.add_user(&user).await.unwrap(), "the same call once more");
    assert_eq!(t.count("user").await, 1);
}

pub async fn a_session_says_who_and_lives_until_it_idles_or_expires(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    let made = client.sign_in(NewSession::new("Ada", hash("$a")).address("192.0.2.7")).await;
    let made = made.unwrap().expect("a session");
    let now = t.now().await;
    assert_eq!(made.expires_at, now.plus(SESSION_LASTS));
    let row = client.session(&made.secret).await.unwrap().expect("it is found");
    assert_eq!((row.id, &*row.user, row.live), (made.id, "ada", true));
    assert_eq!(row.role.as_deref(), Some("operator"));
    assert_eq!(row.address.as_deref(), Some("192.0.2.7"));
    assert_eq!((row.created_at, row.seen_at, row.expires_at), (now, now, made.expires_at));
    assert_eq!(client.user("ada").await.unwrap().unwrap().0.signed_in_at, Some(now));
    assert_eq!(client.sessions().await.unwrap(), [row]);

    // Used in time it goes on, and is noted once a minute.
    t.advance(SESSION_IDLE - MILLI);
    assert!(lives(&client, &made.secret).await);
    client.touch_session(made.id).await.unwrap();
    let seen = t.now().await;
    t.advance(MINUTE - MILLI);
    client.touch_session(made.id).await.unwrap();
    assert_eq!(client.session(&made.secret).await.unwrap().unwrap().seen_at, seen);
    t.advance(SESSION_IDLE - MINUTE + MILLI);
    assert!(!lives(&client, &made.secret).await, "idle for too long");

    let secret = signed_in(&client).await;
    let id = client.session(&secret).await.unwrap().unwrap().id;
    for _ in 0..15 {
        t.advance(SESSION_IDLE - Duration::from_secs(3_600));
        client.touch_session(id).await.unwrap();
    }
    assert!(lives(&client, &secret).await, "165 hours, always used");
    t.advance(Duration::from_secs(3 * 3_600));
    assert!(!lives(&client, &secret).await, "168 hours");
    client.close().await;
}

pub async fn each_change_of_a_user_ends_its_sessions(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    let changes = [
        UserChange::default().grant(Some("viewer".to_owned()), Vec::new()),
        UserChange::default().disabled(true),
        UserChange::default().disabled(false),
        UserChange::default().password(hash("$new")),
    ];
    for change in changes {
        let secret = signed_in(&client).await;
        assert!(lives(&client, &secret).await);
        assert!(client.change_user("ADA", change.clone()).await.unwrap());
        assert!(!lives(&client, &secret).await, "{change:?}");
        let (user, _) = client.user("ada").await.unwrap().unwrap();
        let again = client.sign_in(NewSession::new("ada", hash("$a"))).await.unwrap();
        let other = client.user("ada").await.unwrap().unwrap().1 != hash("$a");
        assert_eq!(again.is_none(), user.disabled_at.is_some() || other, "{change:?}");
        if user.disabled_at.is_some() {
            client.change_user("ada", UserChange::default().disabled(false)).await.unwrap();
        }
    }
    let (user, password) = client.user("ada").await.unwrap().unwrap();
    assert_eq!((user.role.as_deref(), user.rights.len()), (Some("viewer"), 0));
    assert_eq!(password, hash("$new"));
    assert!(!client.change_user("bob", UserChange::default().disabled(true)).await.unwrap());
    client.close().await;
}

/// As when somebody signs in while the user is being changed, and neither sees the other.
pub async fn a_session_of_the_user_as_it_was_gives_nothing(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    let secret = signed_in(&client).await;
    let table = t.table("user");
    t.execute(format!("UPDATE {table} SET version = version + 1")).await;
    assert!(!lives(&client, &secret).await);
    client.close().await;
}

pub async fn a_removed_user_leaves_no_session(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    let secret = signed_in(&client).await;
    assert!(client.remove_user("Ada").await.unwrap());
    assert!(!client.remove_user("ada").await.unwrap());
    assert!(client.session(&secret).await.unwrap().is_none());
    assert_eq!(t.count("session").await, 0);
    assert!(client.sign_in(NewSession::new("ada", hash("$a"))).await.unwrap().is_none());
    client.close().await;
}

pub async fn a_session_ends_alone_and_old_ones_make_room(t: Harness) {
    let client = client(&t).await;
    ada(&client).await;
    let mut secrets = Vec::new();
    for _ in 0..52 {
        secrets.push(signed_in(&client).await);
    }
    let mut alive = Vec::new();
    for secret in &secrets {
        alive.push(lives(&client, secret).await);
    }
    assert_eq!(alive, [vec![false; 2], vec![true; 50]].concat(), "the oldest went");
    let id = client.session(&secrets[9]).await.unwrap().unwrap().id;
    assert!(client.end_session(id).await.unwrap());
    assert!(!client.end_session(id).await.unwrap());
    assert!(!lives(&client, &secrets[9]).await && lives(&client, &secrets[10]).await);
    t.advance(SESSION_IDLE);
    signed_in(&client).await;
    assert_eq!(t.count("session").await, 1, "what has ended goes when its user signs in");
    client.close().await;
}
