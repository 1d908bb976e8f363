//! The audit log: begun before a change, ended after it, read page by page, pruned by the leader.

use longshore::audit::{AuditQuery, EntryEnd, NewEntry};
use longshore::store::StoreError;

use super::token::client;
use crate::harness::*;

pub async fn an_entry_is_read_back_as_it_was_written(t: Harness) {
    let client = client(&t).await;
    let entry = NewEntry::new("jobs.cancel", "ada", "token")
        .actor_id("t1")
        .address("127.0.0.1")
        .target("019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")
        .request_id("r1");
    let id = client.begin_audit(entry).await.unwrap();

    let begun = client.audit(AuditQuery::default()).await.unwrap().entries.remove(0);
    assert_eq!((begun.id, begun.status, begun.at), (id, None, t.now().await));
    assert_eq!(
        (&*begun.action, &*begun.actor, &*begun.actor_kind),
        ("jobs.cancel", "ada", "token")
    );
    assert_eq!(begun.actor_id.as_deref(), Some("t1"));
    assert_eq!(begun.address.as_deref(), Some("127.0.0.1"));
    assert_eq!(begun.target.as_deref(), Some("019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"));
    assert_eq!(begun.request_id.as_deref(), Some("r1"));

    let end = EntryEnd {
        status: 200,
        count: Some(3),
        why: Some("ö\u{0}'\"".into()),
        detail: Some(r#"{"before":{"queue":"a"}}"#.into()),
    };
    client.end_audit(id, end).await.unwrap();
    // The first time counts.
    client.end_audit(id, EntryEnd { status: 500, ..Default::default() }).await.unwrap();
    let ended = client.audit(AuditQuery::default()).await.unwrap().entries.remove(0);
    assert_eq!((ended.status, ended.count), (Some(200), Some(3)));
    assert!(ended.why.unwrap().starts_with('ö'));
    assert_eq!(ended.detail.as_deref(), Some(r#"{"before":{"queue":"a"}}"#));
    client.close().await;
}

pub async fn pages_of_the_audit_log_join(t: Harness) {
    let client = client(&t).await;
    for n in 0..25 {
        let actor = if n % 3 == 0 { "ada" } else { "bob" };
        client.begin_audit(NewEntry::new(&format!("a{n}"), actor, "cli")).await.unwrap();
    }
    for (actor, limit, expected) in [(None, 7, 25), (Some("ada"), 4, 9), (Some("eve"), 4, 0)] {
        let mut query = AuditQuery { actor: actor.map(str::to_owned), limit, ..Default::default() };
        let mut ids = Vec::new();
        loop {
            let page = client.audit(query.clone()).await.unwrap();
            assert!(page.entries.len() <= limit as usize);
            ids.extend(page.entries.iter().map(|entry| entry.id));
            match page.next {
                Some(next) => query.before = Some(next),
                None => break,
            }
        }
        assert_eq!(ids.len(), expected);
        assert!(ids.is_sorted_by(|a, b| a > b));
    }
    let one = AuditQuery { action: Some("a7".into()), ..Default::default() };
    assert_eq!(client.audit(one).await.unwrap().entries.len(), 1);
    client.close().await;
}

pub async fn the_leader_prunes_the_audit_log_in_steps(t: Harness) {
    let client = client(&t).await;
    let node = t.node().await;
    let lead = t.lead(&node, LEASE_FOR).await.expect("it leads");
    let (table, old) = (t.table("audit"), 1_500);
    t.execute(if t.is_sqlite() {
        format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {old})
             INSERT INTO {table} (id, at, actor, actor_kind, action)
             SELECT randomblob(16), 0, 'x', 'cli', 'old' FROM n"
        )
    } else {
        format!(
            "insert into {table} (id, at, actor, actor_kind, action)
             select gen_random_uuid(), '1970-01-01Z', 'x', 'cli', 'old' from generate_series(1, {old})"
        )
    })
    .await;
    client.begin_audit(NewEntry::new("new", "x", "cli")).await.unwrap();

    assert!(t.store.prune_entries(lead, HOUR).await.unwrap(), "there is more");
    assert_eq!(t.count("audit").await, 501);
    assert!(!t.store.prune_entries(lead, HOUR).await.unwrap());
    assert_eq!(t.count("audit").await, 1, "the new one stays");

    t.advance(2 * LEASE_FOR);
    let refused = t.store.prune_entries(lead, MILLI).await;
    assert!(matches!(refused, Err(StoreError::NotLeader)), "{refused:?}");
    assert_eq!(t.count("audit").await, 1);
    client.close().await;
}
