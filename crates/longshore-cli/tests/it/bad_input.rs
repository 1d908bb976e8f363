//! What is wrong is refused with a sentence and exit code 2, before anything is written.

use crate::harness::{Place, Server};

#[track_caller]
fn refused(place: &Place, args: &[&str], sentence: &str) {
    let said = place.run(&[&["enqueue"], args].concat());
    assert_eq!(said.code, 2, "{args:?}: {said:?}");
    assert!(said.err.contains(sentence), "{args:?}: `{sentence}` not in {}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn a_wrong_job_is_refused() {
    let place = Place::empty().migrated();
    place.write("nul", b"\"a\0b\"");
    place.write("latin1", b"\"\xe9\"");
    place.write("large", vec![b' '; 1_048_577]);
    let deep = "[".repeat(200);
    let cases: &[(&[&str], &str)] = &[
        (&["k", "--payload", "{]"], "payload is not JSON: a key in quotes expected at byte 1"),
        (&["k", "--payload", "\"\\ud800\""], "payload"),
        (&["k", "--payload", &deep], "payload"),
        (&["k", "--payload", "@nul"], "payload"),
        (&["k", "--payload", "@latin1"], "payload is not UTF-8: latin1 has a wrong byte at byte 1"),
        (&["k", "--payload", "@large"], "payload has more than 1048576 bytes"),
        (&["k", "--payload", "@absent"], "payload cannot be read: absent: No such file"),
        (&["k", "--payload", "@."], "payload cannot be read: ."),
        (&[""], "kind `` is empty"),
        (&["a\u{1b}b"], "kind `a\\u{1b}b` has the character U+001B"),
        (&["k", "--queue", " q"], "queue ` q` starts or ends with white space"),
        (&["k", "--tag", ".."], "tags `..` is `.` or `..`"),
        (&["k", "--priority", "10"], "priority is 10; it may be 0 to 9"),
        (&["k", "--priority", "-1"], "priority is -1; it may be 0 to 9"),
        (&["k", "--priority", "256"], "priority is 256; it may be 0 to 9"),
        (&["k", "--max-attempts", "0"], "max_attempts is 0; it may be 1 to 1000000000"),
        (&["k", "--max-attempts", "99999999999999"], "max_attempts is 99999999999999; it may be"),
        (&["k", "--at", "10000-01-01T00:00:00Z"], "is not an RFC 3339 time between 0000-01-01"),
        (&["k", "--at", "infinity"], "is not an RFC 3339 time"),
        (&["k", "--in", "5"], "`5` is no span of time; write it as"),
        (&["k", "--in", "100000000h"], "run_at is "),
        (&["k", "--timeout", "0s"], "timeout is 0"),
        (&["k", "--id", "7"], "`7` is no job id"),
        (&["k", "--database", "mysql://u:secret@h/d"], "`mysql://u@h/d` names no database"),
        (&["k", "--database", "sqlite:"], "`sqlite:` names no file"),
    ];
    for (args, sentence) in cases {
        refused(&place, args, sentence);
    }
    let page = place.json(&["jobs", "list"]);
    assert_eq!(page["jobs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_database_out_of_reach_is_code_6_and_an_empty_one_code_4() {
    let place = Place::empty();
    let away = place.run(&["jobs", "list", "--database", "sqlite:no/such/folder.db"]);
    assert_eq!(away.code, 6, "{away:?}");
    assert!(away.err.contains("no database at no/such/folder.db"), "{away:?}");
    let empty = place.run(&["enqueue", "noop"]);
    assert_eq!(empty.code, 4, "{empty:?}");
    assert!(empty.err.contains("run `longshore migrate up`"), "{empty:?}");
}

#[test]
fn a_postgres_out_of_reach_is_code_6_and_waited_for_by_serve() {
    let place = Place::empty();
    let url = ["--database", "postgres://u:secret@127.0.0.1:1/jobs"];
    let said = place.run(&[&["jobs", "list"], &url[..]].concat());
    assert_eq!(said.code, 6, "{said:?}");
    assert!(!said.err.contains("secret"), "{said:?}");

    let server = Server::start(place.command(&[&["serve"], &url[..]].concat()));
    server.until_log("trying again");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn help_lists_the_exit_codes() {
    let said = Place::empty().run(&["--help"]);
    assert_eq!(said.code, 0);
    for code in ["2  the command", "6  the database or the server", "8  the job waited for"] {
        assert!(said.out.contains(code), "{said:?}");
    }
    assert_eq!(Place::empty().run(&["jabs"]).code, 2);
}
