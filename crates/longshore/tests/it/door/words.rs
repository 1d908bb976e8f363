//! Both doors given the same: the same verdict, in the same words.

use std::sync::Arc;
use std::time::Duration;

use longshore::{Client, NewJob, Timestamp, Unique};
use sqlx::Connection;

use super::{Refused, call, quoted, server};
use crate::harness::*;
use crate::worker::{Desk, run};

/// What the library says of a job; it needs no server for that.
async fn library(client: &Client, job: NewJob) -> Result<(), String> {
    client.enqueue(job).await.map(|_| ()).map_err(|error| error.to_string())
}

async fn in_memory() -> Client {
    let client = Client::open("sqlite::memory:").await.expect("a client");
    client.migrate().await.expect("its schema");
    client
}

#[test]
fn each_limit_in_the_librarys_words() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let job = || NewJob::new("k");
        let mut pairs: Vec<(String, NewJob)> = Vec::new();
        let long = "ä".repeat(128);
        let names = [
            "",
            &long,
            "a\u{7f}b",
            "ää\n",
            "a\u{200b}",
            "x\u{378}",
            "'\u{10ffff}",
            " a",
            "a\u{3000}",
            "\u{2028}a",
            ".",
            "..",
            "\\ \\",
            "a\\ ",
        ];
        for name in names {
            let text = quoted(name);
            pairs.push((format!("{text}, 'null'"), NewJob::new(name)));
            pairs.push((format!("'k', 'null', {text}"), job().queue(name)));
            pairs.push((
                format!("'k', 'null', tags => array['a', {text}]"),
                job().tag("a").tag(name),
            ));
            pairs.push((
                format!("'k', 'null', redacted => array['a', {text}]"),
                job().redact("a").redact(name),
            ));
            pairs.push((
                format!("'k', 'null', unique_key => {text}"),
                job().unique(Unique::key(name)),
            ));
        }
        let numbers: [(&str, NewJob); 11] = [
            ("payload_version => 0", job().payload_version(0)),
            ("redacted => array['.'], payload_version => 0", job().payload_version(0).redact(".")),
            ("priority => 10", job().priority(10)),
            ("max_attempts => 0", job().max_attempts(0)),
            ("max_attempts => 1000000001", job().max_attempts(1_000_000_001)),
            ("timeout => '0.9 ms'", job().timeout(MILLI / 2)),
            ("timeout => '36600 days 1 ms'", job().timeout(36_600 * 24 * HOUR + MILLI)),
            ("retain => '36600 days 1 ms'", job().retain(36_600 * 24 * HOUR + MILLI)),
            (
                "unique_key => 'x', unique_within => '0'",
                job().unique(Unique::key("x").within(Duration::ZERO)),
            ),
            (
                "run_at => '0001-12-31 23:59:59.999999+00 BC'::timestamptz - interval '1 year'",
                job().run_at(Timestamp::from_micros(Timestamp::MIN.as_micros() - 1)),
            ),
            (
                "run_at => '9999-12-31 23:59:59.999999+00'::timestamptz + interval '1 us'",
                job().run_at(Timestamp::from_micros(Timestamp::MAX.as_micros() + 1)),
            ),
        ];
        pairs.extend(numbers.map(|(option, job)| (format!("'k', 'null', {option}"), job)));
        let many = (0..65).fold(job(), |job, n| job.tag(n.to_string()));
        pairs.push((
            "'k', 'null', tags => (select array_agg(n::text) from generate_series(0, 64) n)".into(),
            many,
        ));
        let many = (0..65).fold(job(), |job, n| job.redact(n.to_string()));
        pairs.push((
            "'k', 'null', redacted => (select array_agg(n::text) from generate_series(0, 64) n)"
                .into(),
            many,
        ));
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let payloads = [
            format!("\"{}\"", "x".repeat((1 << 20) - 1)),
            deep(129),
            format!("[{}]", "[],".repeat(200) + &deep(128)),
            format!("{{\"ä[\\\"[\":{}}}", deep(128)),
            r#""ä\ud800""#.into(),
            r#"["\\ud800", "\udc00"]"#.into(),
            r#""\ud800\n""#.into(),
            r#""\ud83d\ude00\uDBFF\u0041""#.into(),
            r#"{"\ud800\ud800\udc00":1}"#.into(),
            format!("[\"\\udead\",{}]", deep(128)),
            format!("[{},\"\\udead\"]", deep(128)),
        ];
        for payload in payloads {
            pairs.push((format!("'k', {}", quoted(&payload)), job().payload(payload)));
        }
        let metas = [
            "[]".to_owned(),
            " 1".into(),
            "\"{\"".into(),
            r#"{"a":"\ud800"}"#.into(),
            format!("{{\"a\":{}}}", deep(128)),
            format!("{{\"a\":\"{}\"}}", "x".repeat(65_529)),
        ];
        for meta in metas {
            pairs.push((format!("'k', 'null', meta => {}", quoted(&meta)), job().meta(meta)));
        }
        // The first of several faults is the one that is named.
        pairs.push((
            "'', '\"\\ud800\"', '', 11, max_attempts => 0".into(),
            NewJob::new("").priority(11),
        ));
        pairs.push((
            "'k', '\"\\ud800\"', tags => array['.'], meta => '1'".into(),
            job().tag(".").meta("1"),
        ));

        let client = in_memory().await;
        for (arguments, job) in pairs {
            let theirs = library(&client, job).await;
            let shown: String = arguments.chars().take(200).collect();
            match (d.ask(&arguments).await, theirs) {
                (Err(Refused { state, words }), Err(theirs)) => {
                    assert_eq!((state.as_str(), words), ("22023", theirs), "{shown}");
                }
                (Ok(_), Ok(())) => assert!(shown.contains("\\ \\"), "a limit: {shown}"),
                (ours, theirs) => panic!("{shown}: {ours:?}, {theirs:?}"),
            }
        }
        // Just inside.
        for arguments in [
            "'k', 'null', 'q', 0, max_attempts => 1000000000, retain => '36600 days', timeout => '1 ms'",
            "'k', 'null', run_at => '0001-01-01 00:00:00+00 BC'",
            "'k', 'null', run_at => '9999-12-31 23:59:59.999999+00'",
        ] {
            d.added(arguments).await;
        }
        for payload in [
            deep(128),
            format!("\"{}\"", "x".repeat((1 << 20) - 2)),
            r#""\\ud800 \ud83d\ude00""#.into(),
        ] {
            d.added(&format!("'k', {}", quoted(&payload))).await;
        }
        client.close().await;
    });
}

#[test]
fn what_only_the_door_can_be_told_wrong() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let none_given = "unique_within, unique_for_good and on_conflict say how a unique_key is held, but none is given";
        for (arguments, state, words) in [
            ("'k', '{'", "22P02", "invalid input syntax for type json"),
            ("null, '1'", "22023", "kind `` is empty; a name has 1 to 255 bytes"),
            ("'k', '1', priority => -1", "22023", "priority is -1; it may be 0 to 9"),
            (
                "'k', '1', timeout => '-1 s'",
                "22023",
                "timeout is -1000; it may be 1 to 3162240000000",
            ),
            (
                "'k', '1', tags => array[null]",
                "22023",
                "tags `` is empty; a name has 1 to 255 bytes",
            ),
            (
                "'k', '1', run_at => 'infinity'",
                "22023",
                "run_at is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
            ),
            (
                "'k', '1', run_at => '-infinity'",
                "22023",
                "run_at is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
            ),
            (
                "'k', '1', unique_key => 'x', on_conflict => 'Keep'",
                "22023",
                "on_conflict is `Keep`; it may be keep, replace or refuse",
            ),
            (
                "'k', '1', unique_key => 'x', unique_within => '1 h', unique_for_good => true",
                "22023",
                "unique_within and unique_for_good are both given; a key is held in one way",
            ),
            ("'k', '1', unique_within => '1 h'", "22023", none_given),
            ("'k', '1', unique_for_good => true", "22023", none_given),
            ("'k', '1', on_conflict => 'refuse'", "22023", none_given),
        ] {
            let refused = d.ask(arguments).await.expect_err(arguments);
            assert_eq!(
                (refused.state.as_str(), refused.words.as_str()),
                (state, words),
                "{arguments}"
            );
        }
        assert_eq!(d.t.count("job").await, 0);
    });
}

/// A name out of what names are made of, and out of what they must not have.
fn name(rng: &mut fastrand::Rng) -> String {
    let white = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2005}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
    let white: Vec<char> = white.chars().collect();
    let length = if rng.u8(..20) == 0 { rng.usize(60..300) } else { rng.usize(..6) };
    let mut name = String::new();
    for _ in 0..length {
        name.push(match rng.u8(..40) {
            0 => white[rng.usize(..white.len())],
            1..=2 => rng.char(..),
            3..=5 => rng.char('\u{80}'..'\u{3000}'),
            6 => ['\\', '\'', '"', '`', '.', '%'][rng.usize(..6)],
            _ => rng.char(' '..='~'),
        });
    }
    name.replace('\0', "\u{1}")
}

/// JSON that is nearly always right, deep at times, with half surrogates at times.
fn json(rng: &mut fastrand::Rng, depth: usize, text: &mut String) {
    let string = |rng: &mut fastrand::Rng, text: &mut String| {
        text.push('"');
        for _ in 0..rng.usize(..4) {
            match rng.u8(..60) {
                0 => text.push_str("\\ud83d"),
                1 => text.push_str("\\uDe00"),
                2..=9 => text.push_str("\\ud83d\\uDE00"),
                10 => text.push_str("\\u00e9"),
                11..=14 => text.push_str("\\\\"),
                15..=17 => text.push_str("\\\""),
                18..=20 => text.push_str("ud800"),
                21..=24 => text.push_str("[{"),
                25..=27 => text.push(rng.char('\u{80}'..)),
                28 => text.push_str("\\x"),
                _ => text.push(rng.char('a'..='z')),
            }
        }
        text.push('"');
    };
    match rng.u8(..10) {
        _ if depth > 0 => {
            let (object, before, after) = (rng.bool(), rng.usize(..3), rng.usize(..2));
            text.push(if object { '{' } else { '[' });
            for n in 0..=before + after {
                if n > 0 {
                    text.push_str([",", ", "][rng.usize(..2)]);
                }
                if object {
                    string(rng, text);
                    text.push(':');
                }
                json(rng, if n == before { depth - 1 } else { 0 }, text);
            }
            text.push(if object { '}' } else { ']' });
        }
        0 => text.push_str("[]"),
        1 => text.push_str("{}"),
        2 => text.push_str("-1.5e3"),
        3 => text.push_str("null"),
        _ => string(rng, text),
    }
}

#[test]
fn at_random_both_doors_say_the_same() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let mut rng = fastrand::Rng::with_seed(13);
        let mut conn = server(&d).conn().await;
        let client = in_memory().await;
        let (mut taken, mut refused) = (0, 0);
        for n in 0..6_000 {
            let (arguments, job, is_json) = if n % 2 == 0 {
                let name = name(&mut rng);
                (format!("{}, '1'", quoted(&name)), NewJob::new(name), false)
            } else {
                let mut text = String::new();
                let depth = [0, 1, 3, 126, 127, 128, 129, 140][rng.usize(..8)];
                json(&mut rng, depth, &mut text);
                (format!("'k', {}", quoted(&text)), NewJob::new("k").payload(text), true)
            };
            match (call(&mut conn, &arguments).await, library(&client, job).await) {
                (Ok(_), Ok(())) => taken += 1,
                // It reads no further than the fault; the database reads all of it first.
                (Err(ours), Err(theirs)) if is_json && ours.state == "22P02" => {
                    assert!(theirs.starts_with("payload "), "{theirs}");
                    assert!(arguments.contains("\\x"), "{arguments}");
                }
                (Err(ours), Err(theirs)) => {
                    refused += 1;
                    assert_eq!((ours.state.as_str(), ours.words), ("22023", theirs), "{arguments}");
                }
                (ours, theirs) => panic!("{arguments}: {ours:?}, {theirs:?}"),
            }
        }
        assert!(taken > 1_000 && refused > 1_000, "{taken} taken, {refused} refused");
        client.close().await;
        conn.close().await.expect("the connection closes");
    });
}

/// Each end of each stretch of characters that must not be in a name, and its neighbours.
#[test]
fn every_stretch_of_hidden_characters_ends_where_the_librarys_does() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let check = longshore::job::name::check;
        let hides = |c: char| check(&format!("a{c}a")).is_err();
        let all: Vec<char> = ('\u{1}'..=char::MAX).collect();
        let borders: Vec<i32> = all
            .windows(2)
            .filter(|pair| hides(pair[0]) != hides(pair[1]))
            .flat_map(|pair| [pair[0] as i32, pair[1] as i32])
            .collect();
        assert!(borders.len() > 1_000);
        let mut conn = server(&d).conn().await;
        for code in borders {
            let hidden: bool = sqlx::query_scalar("SELECT longshore.is_hidden(ascii(chr($1)))")
                .bind(code)
                .fetch_one(&mut conn)
                .await
                .expect("a verdict");
            assert_eq!(
                hidden,
                hides(char::from_u32(code as u32).expect("a character")),
                "U+{code:04X}"
            );
        }
        conn.close().await.expect("the connection closes");
    });
}
