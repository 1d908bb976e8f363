//! The language: what is understood, what is refused and how, and that printing loses nothing.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::job::JobId;
use crate::time::Timestamp;

#[track_caller]
fn canonical(text: &str, expected: &str) {
    let filter = Filter::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(filter.to_string(), expected, "{text}");
    assert_eq!(Filter::parse(expected).as_ref(), Ok(&filter), "{text}");
}

#[test]
fn a_query_is_read_and_printed_in_one_form() {
    canonical("", "");
    canonical("  state:dead\tkind:email.*  ", "state:dead kind:email.*");
    canonical("kind:b,a,b state:queued,dead", "state:queued,dead kind:a,b");
    canonical("-queue:mail queue:m*", "queue:m* -queue:mail");
    canonical("kind:a kind:a", "kind:a");
    canonical(r#"tag:"a b","c,d",e"#, r#"tag:"a b","c,d",e"#);
    canonical(r#"kind:"plain""#, "kind:plain");
    canonical(r#"kind:"a*"*"b c""#, r#"kind:"a*"*"b c""#);
    canonical(r#"kind:"say \"hi\" \\ \n""#, r#"kind:"say \"hi\" \\ \\n""#);
    canonical("kind:a**b", "kind:a*b");
    canonical("kind:a:b/c#%_'", "kind:a:b/c#%_'");
    canonical("kind:>x", "kind:>x");
    canonical("kind:日本,ä*", "kind:ä*,日本");
    canonical("priority:>3,1..2,0 attempt:<=4", "priority:0,>3,1..2 attempt:<=4");
    canonical("priority:..3 attempt:2..", "priority:<=3 attempt:>=2");
    canonical("created:>-90m due:<+1d", "created:>-1h30m due:<+1d");
    canonical("finished:2026-03-01", "finished:2026-03-01");
    canonical(
        "finished:2026-03-01..2026-03-02T10:00:00+02:00",
        "finished:2026-03-01..2026-03-02T08:00:00.000000Z",
    );
    canonical("created:-2h..now", "created:-2h..now");
    canonical("id:019364BB3F3C7C6E8F6A3D2F1B7C9E10", "id:019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10");
    canonical(r#"key:"" -key:*"#, r#"key:"" -key:*"#);
}

#[track_caller]
fn refused(text: &str, at: std::ops::Range<usize>, field: Option<Field>, sentence: &str) {
    let error = Filter::parse(text).expect_err(text);
    assert!(error.sentence().contains(sentence), "{text}: {}", error.sentence());
    assert_eq!((error.at(), error.field()), (at, field), "{text}");
    assert_eq!(error.to_string().lines().count(), 2, "{error}");
}

#[test]
fn a_fault_is_named_with_its_place() {
    use Field::*;
    refused(
        "state:ded kind:x",
        6..9,
        Some(State),
        "no state is called `ded`; did you mean `dead`?",
    );
    refused("kind:x state:zebra", 13..18, Some(State), "there are scheduled, queued");
    refused("quue:mail", 0..4, None, "no field is called `quue`; did you mean `queue`?");
    refused("zebra:1", 0..5, None, "there are state, kind, queue");
    refused("kind:a dead", 7..11, None, "such as state:dead");
    refused("a*b", 0..3, None, "such as kind:a*b");
    refused("019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10", 0..36, None, "such as id:019364bb");
    refused("kind:", 0..5, Some(Kind), "a value is missing");
    refused("kind:a,,b", 0..7, Some(Kind), "a value is missing");
    refused("-", 1..1, None, "a term is FIELD:VALUE");
    refused(r#"kind:"a b"#, 5..9, Some(Kind), "never closed");
    refused("kind:a\u{1b}b", 6..7, Some(Kind), "U+001B");
    refused("priority:high", 9..13, Some(Priority), "`high` is no number");
    refused("priority:-1", 9..11, Some(Priority), "is no number");
    refused("attempt:99999999999", 8..19, Some(Attempt), "is no number");
    refused("attempt:5..1", 8..12, Some(Attempt), "ends before it begins");
    refused("created:-2h", 8..11, Some(Created), "write >-2h for later");
    refused("created:2h", 8..10, Some(Created), "`2h` is no time");
    refused("due:2026-03-02..2026-03-01", 4..26, Some(Due), "ends before");
    refused("due:+2h..+1h", 4..12, Some(Due), "ends before");
    refused("finished:..", 9..11, Some(Finished), "is no time");
    refused("id:7", 3..4, Some(Id), "`7` is no id");
    refused("node:worker-1", 5..13, Some(Node), "is no id");
    refused("kind:a*b*c*d*e*f", 5..16, Some(Kind), "at most 4 stars");
    refused(&"x".repeat(5_000), 4096..4097, None, "at most 4096 bytes");
    let many: Vec<String> = (0..33).map(|n| format!("kind:k{n}")).collect();
    let last = many.join(" ").len();
    refused(&many.join(" "), last - 8..last, Some(Kind), "at most 32 terms");
    let many: Vec<String> = (0..201).map(|n| n.to_string()).collect();
    let last = many.join(",").len() + 5;
    refused(&format!("kind:{}", many.join(",")), last - 3..last, Some(Kind), "at most 200 values");
}

#[test]
fn the_fault_is_underlined() {
    let error = Filter::parse("state:ded kind:x").expect_err("no such state").to_string();
    assert_eq!(
        error,
        "  state:ded kind:x\n        ^^^ no state is called `ded`; did you mean `dead`?"
    );
    // By characters, not bytes; and a long query is cut around the fault.
    let wide = Filter::parse("kind:äöü\nstate:ded").expect_err("no such state").to_string();
    assert_eq!(wide.lines().nth(1).expect("marks").find('^'), Some(2 + 15));
    let long = format!("kind:{} state:ded kind:{}", "x".repeat(500), "y".repeat(500));
    let shown = Filter::parse(&long).expect_err("no such state").to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("  …") && lines[0].ends_with('…'), "{shown}");
    let column = lines[1].chars().position(|c| c == '^').expect("marks");
    assert_eq!(lines[0].chars().skip(column).take(3).collect::<String>(), "ded", "{shown}");
}

/// A small generator of our own; the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % sides as u64) as usize
    }

    fn some<T>(&mut self, mut make: impl FnMut(&mut Dice) -> T) -> Vec<T> {
        (0..=self.roll(3)).map(|_| make(self)).collect()
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 16] =
            ["a", "b", "*", "\"", "\\", ",", " ", ":", "-", ">", "..", "ä", "😀", "'", "%", "x.y"];
        (0..self.roll(5)).map(|_| PIECES[self.roll(PIECES.len())]).collect()
    }

    fn pattern(&mut self) -> Pattern {
        match self.roll(3) {
            0 => Pattern::glob(&self.text().replace("**", "*")),
            _ => Pattern::exact(&self.text()),
        }
    }

    fn range<T>(&mut self, mut one: impl FnMut(&mut Dice) -> T, is: bool) -> Range<T> {
        match self.roll(if is { 5 } else { 4 }) {
            0 => Range::Above(one(self)),
            1 => Range::From(one(self)),
            2 => Range::Below(one(self)),
            3 => Range::UpTo(one(self)),
            _ => Range::Is(one(self)),
        }
    }

    fn moment(&mut self) -> Moment {
        let at = Timestamp::from_micros(1_700_000_000_000_000 + self.roll(1 << 30) as i64 * 1_001);
        match self.roll(4) {
            0 => Moment::At(at),
            1 => Moment::Day(format!("{}T00:00:00Z", &at.to_string()[..10]).parse().unwrap()),
            2 => Moment::ago(Duration::from_micros(self.roll(1 << 30) as u64 * 97)),
            _ => Moment::ahead(Duration::from_millis(self.roll(1 << 30) as u64)),
        }
    }

    fn test(&mut self) -> Test {
        match self.roll(12) {
            0 => Test::State(self.some(|d| State::ALL[d.roll(8)])),
            1 => Test::Kind(self.some(Dice::pattern)),
            2 => Test::Queue(self.some(Dice::pattern)),
            3 => Test::Tag(self.some(Dice::pattern)),
            4 => Test::Node(self.some(|d| Uuid::from_u128(d.roll(1 << 30) as u128))),
            5 => {
                Test::Id(self.some(|d| JobId::from_uuid(Uuid::from_u128(d.roll(1 << 30) as u128))))
            }
            6 => Test::Key(self.some(Dice::pattern)),
            7 => Test::Priority(self.some(|d| d.range(|d| d.roll(10) as u32, true))),
            8 => Test::Attempt(self.some(|d| d.range(|d| d.roll(10) as u32, true))),
            9 => Test::Created(self.some(|d| d.range(Dice::moment, false))),
            10 => Test::Due(self.some(|d| d.range(Dice::moment, false))),
            _ => Test::Finished(self.some(|d| d.range(Dice::moment, false))),
        }
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let mut filter = Filter::all();
        for _ in 0..dice.roll(5) {
            let (negated, test) = (dice.roll(3) == 0, dice.test());
            filter = filter.with(Term { negated, test });
        }
        let text = filter.to_string();
        let read = Filter::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(read, filter, "{text}");
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn any_text_is_read_or_refused_without_panic() {
    const PIECES: [&str; 24] = [
        "state",
        "kind",
        ":",
        ":",
        "-",
        ",",
        "\"",
        "*",
        " ",
        "\\",
        "dead",
        ">",
        "<=",
        "..",
        "-2h",
        "ä",
        "😀",
        "\u{0}",
        "\n",
        "2026-03-01",
        "id",
        "created",
        "priority",
        "9",
    ];
    let mut dice = Dice(11);
    for _ in 0..50_000 {
        let text: String = (0..dice.roll(12)).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        match Filter::parse(&text) {
            Ok(filter) => assert_eq!(Filter::parse(&filter.to_string()), Ok(filter), "{text}"),
            Err(error) => {
                assert!(text.get(error.at()).is_some(), "{text:?}: {:?}", error.at());
                assert_eq!(error.to_string().lines().count(), 2, "{text:?}");
            }
        }
    }
}
