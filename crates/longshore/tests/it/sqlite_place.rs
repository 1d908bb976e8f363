//! Where a SQLite file lies, and whose it is: a shared file system and a second host are refused.

use std::sync::Arc;
use std::time::Instant;

use longshore::store::{Pulse, Repeat, Store, StoreError, StoreOptions};

use crate::harness::*;

/// A second store on the same file, as a process of this host would open it.
async fn open_from(t: &Harness, host: &str) -> Result<Arc<dyn Store>, StoreError> {
    let options = StoreOptions { host: Some(host.into()), ..t.database.options(t.clock.clone()) };
    longshore::store::open(&t.database.url(), options).await
}

async fn node_of(t: &Harness, store: &Arc<dyn Store>) -> Node {
    Harness { store: store.clone(), ..t.clone() }.node().await
}

#[track_caller]
fn refused<T>(answer: Result<T, StoreError>, host: &str) {
    let Err(error @ StoreError::OtherHost { .. }) = answer else {
        panic!("the file was opened, or: {:?}", answer.err())
    };
    let words = error.to_string();
    assert!(words.contains(&format!("`{host}`")) && words.contains("t.db"), "{words}");
}

/// FC-075. The lease is two seconds, so that its end can be waited for.
#[test]
fn a_second_host_is_refused_while_the_first_lives() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let first = open_from(&t, "one kernel-1").await.expect("nobody is there");
        let node = node_of(&t, &first).await;
        let beating = {
            let (node, clock) = (node.clone(), t.clock.clone());
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(300 * MILLI).await;
                    clock.advance(MILLI);
                    assert!(matches!(node.beat().await, Pulse::Alive { .. }));
                }
            })
        };

        // A container of the same host has another name and the same kernel.
        let beside = open_from(&t, "one-container kernel-1").await.expect("the same host");
        node_of(&t, &beside).await;
        let began = Instant::now();
        refused(open_from(&t, "two kernel-2").await, "one kernel-1");
        assert!(began.elapsed() < 10 * SECOND, "a heartbeat tells, not the end of a lease");

        let options = StoreOptions {
            host: Some("two kernel-2".into()),
            allow_other_host: true,
            ..t.database.options(t.clock.clone())
        };
        let allowed = longshore::store::open(&t.database.url(), options).await;
        allowed.expect("it was asked for").close().await;

        // The first goes on unharmed.
        first.enqueue(&jobs(3), Repeat::No).await.expect("an enqueue");
        let run = node.claim_one().await;
        let ended = [(run.held(), done())];
        first.finish(node.id, &ended).await.expect("a finish");
        beating.abort();
        let _ = beating.await;

        t.advance(LEASE_FOR + SECOND);
        let second = open_from(&t, "two kernel-2").await.expect("the first is over");
        node_of(&t, &second).await;
        // It sees the second when it comes back.
        refused_join(&t, &first, "two kernel-2").await;
        second.close().await;
        first.close().await;
        beside.close().await;
    });
}

async fn refused_join(t: &Harness, store: &Arc<dyn Store>, host: &str) {
    let before = t.count("node").await;
    refused(store.join(&new_node(longshore::store::NodeId::new())).await, host);
    assert_eq!(t.count("node").await, before, "nothing is written");
}

/// Both opened the file while nobody served it.
#[test]
fn of_two_hosts_that_start_at_once_one_serves() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let one = open_from(&t, "one kernel-1").await.expect("nobody is there");
        let two = open_from(&t, "two kernel-2").await.expect("nobody is there");
        let node = node_of(&t, &one).await;
        refused_join(&t, &two, "one kernel-1").await;
        one.leave(node.id).await.expect("it leaves");
        node_of(&t, &two).await;
        one.close().await;
        two.close().await;
    });
}

/// A power cut: the same machine comes back with another id, its old node's lease still runs, and by a
/// clock that went wrong it would run for a day.
#[test]
fn a_node_that_does_not_beat_is_taken_over_whatever_the_clocks_say() {
    run(Flavour::Sqlite, |t: Harness| async move {
        t.enqueue(job()).await;
        let first = open_from(&t, "one kernel-1").await.expect("nobody is there");
        let lost = node_of(&t, &first).await.claim_one().await;
        let hour = 3_600_000_000_i64;
        t.execute(format!(
            "UPDATE longshore_node SET seen_at = seen_at + {hour}, expires_at = seen_at + {hour} + 1500000"
        ))
        .await;

        let second = open_from(&t, "one kernel-2").await.expect("after the lease, by a watch");
        let node = node_of(&t, &second).await;
        assert_eq!(second.rescue().await.expect("a rescue").queued, [lost.id]);
        assert_eq!(node.claim_one().await.id, lost.id);
        first.close().await;
        second.close().await;
    });
}

/// A real entry of the kernel's table. Nobody answers for it, as when the server of a mount went away.
#[cfg(target_os = "linux")]
#[test]
fn a_file_on_a_network_mount_is_refused_by_name() {
    block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let mount = "exec 9<>/dev/fuse && exec mount -i -t fuse -o \
            fd=9,rootmode=40000,user_id=0,group_id=0,subtype=sshfs nas:/jobs \"$0\"";
        let mounted =
            std::process::Command::new("bash").args(["-c", mount]).arg(folder.path()).output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            println!("left out: nothing can be mounted here, it takes root and /dev/fuse");
            return;
        }
        let file = folder.path().join("t.db");
        let url = format!("sqlite:{}", file.display());
        let answer = longshore::store::open(&url, StoreOptions::default()).await;
        let allowed = StoreOptions { allow_shared_mount: true, ..StoreOptions::default() };
        let allowed = longshore::store::open(&url, allowed).await;
        let gone = std::process::Command::new("umount").arg("-l").arg(folder.path()).status();
        assert!(gone.expect("umount runs").success());

        let Err(error @ StoreError::SharedMount { .. }) = answer else {
            panic!("{:?}", answer.err())
        };
        let words = error.to_string();
        for named in ["t.db lies on", &*folder.path().display().to_string(), "fuse.sshfs"] {
            assert!(words.contains(named), "{words}");
        }
        // Let through, it meets the mount itself.
        let allowed = allowed.err().expect("nobody answers for it");
        assert!(matches!(allowed, StoreError::Unavailable { .. }), "{allowed:?}");
    });
}
