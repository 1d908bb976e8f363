//! Settings: flag > environment > file > default.

use crate::harness::{Place, Said};

/// Which database a command used, by the file that it made.
fn used(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Vec<&'static str> {
    let all = ["flag.db", "own.db", "platform.db", "file.db", "longshore.db"];
    let mut command = place.command(&[&["migrate", "up"], args].concat());
    assert!(command.envs(env.iter().copied()).output().unwrap().status.success());
    let there: Vec<_> = all.into_iter().filter(|name| place.path().join(name).exists()).collect();
    for name in &there {
        std::fs::remove_file(place.path().join(name)).unwrap();
    }
    there
}

#[test]
fn each_layer_wins_over_the_next() {
    let place = Place::empty();
    let (flag, own) = (["--database", "sqlite:flag.db"], ("LONGSHORE_DATABASE", "sqlite:own.db"));
    let platform = ("DATABASE_URL", "sqlite:platform.db");
    assert_eq!(used(&place, &[], &[]), ["longshore.db"]);
    place.write("longshore.toml", "database = 'sqlite:file.db'");
    assert_eq!(used(&place, &[], &[]), ["file.db"]);
    assert_eq!(used(&place, &[], &[platform]), ["platform.db"]);
    assert_eq!(used(&place, &[], &[platform, own]), ["own.db"]);
    assert_eq!(used(&place, &flag, &[platform, own]), ["flag.db"]);
}

fn with_file(toml: &str) -> Said {
    let place = Place::empty();
    place.write("longshore.toml", toml);
    place.run(&["migrate", "up"])
}

#[test]
fn a_wrong_file_is_refused_with_what_was_meant() {
    for (toml, sentence) in [
        ("databse = 'x'", "longshore.toml: unknown key `databse`; did you mean `database`?"),
        ("[worker]\nleese = '3s'", "unknown key `worker.leese`; did you mean `worker.lease`?"),
        ("[worker]\nlease = 3", "worker.lease: "),
        ("[worker]\nlease = '3 parsecs'", "`3 parsecs` is no span of time"),
        ("[queues]\nmail = 'x'", "queues"),
        ("database = ", "longshore.toml: "),
    ] {
        let said = with_file(toml);
        assert_eq!(said.code, 2, "{toml}: {said:?}");
        assert!(said.err.contains(sentence), "{toml}: `{sentence}` not in {}", said.err);
    }
    let absent = Place::empty().run(&["migrate", "up", "--config", "absent.toml"]);
    assert_eq!(absent.code, 2, "{absent:?}");
    assert!(absent.err.contains("absent.toml: "), "{absent:?}");
}

#[test]
fn queues_of_a_higher_layer_replace_those_below() {
    let place = Place::empty();
    place.write("longshore.toml", "[queues]\nmail = 3\n[worker]\nname = 'from file'");
    let queues = |place: &Place| place.json(&["nodes", "list"])["nodes"][0].clone();

    let server = place.serve(&[]);
    let node = queues(&place);
    assert_eq!(node["queues"], serde_json::json!([["mail", 3]]));
    assert_eq!(node["name"], "from file");
    server.signal("TERM");
    server.ended();

    let _server = place.serve(&["-q", "a=1", "-q", "b=2", "--name", "7"]);
    let node = queues(&place);
    assert_eq!(node["queues"], serde_json::json!([["a", 1], ["b", 2]]));
    assert_eq!(node["name"], "7");
}

#[test]
fn settings_that_cannot_work_are_all_named() {
    let said = Place::empty().run(&["serve", "-q", "mail=0", "--poll", "0s"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.err.contains("`mail` has 0 slots") && said.err.contains("poll_every is 0"),
        "{said:?}"
    );
    let said = Place::empty().run(&["serve", "--files-root", "absent"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("kinds.files_root: absent: "), "{said:?}");
    let place = Place::empty();
    place.write("longshore.toml", "[kinds]\nexec_programs = \"convert\"\n");
    let said = place.run(&["serve"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.err.contains("kinds.exec_programs has `convert`; write the whole path"),
        "{said:?}"
    );
}
