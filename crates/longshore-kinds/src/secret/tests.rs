//! Every form of a secret is found, and nothing else is touched.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;

const ODD: &str = r#"p@ss/w+rd "ä\😀 end"#;

fn masker() -> Masker {
    Masker::new([ODD])
}

/// `bytes` percent-encoded: all of them, or only what an address cannot have.
fn percent(text: &str, all: bool) -> String {
    let kept = |byte: u8| !all && byte.is_ascii_alphanumeric();
    let code =
        |byte: u8| if kept(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(code).collect()
}

#[test]
fn each_form_is_masked() {
    let json = serde_json::to_string(ODD).unwrap();
    let escaped = json.trim_matches('"').to_owned();
    let forms = [
        ODD.to_owned(),
        percent(ODD, false),
        percent(ODD, true).to_lowercase(),
        percent(ODD, false).replace("%20", "+"),
        escaped.clone(),
        escaped.replace('/', "\\/"),
        ODD.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
        STANDARD.encode(ODD),
        URL_SAFE_NO_PAD.encode(ODD),
        percent(&STANDARD.encode(ODD), false),
    ];
    for form in forms {
        let text = format!("before <{form}> after");
        assert_eq!(masker().text(&text), "before <***> after", "{text}");
    }
}

#[test]
fn within_other_base64_its_bytes_are_gone() {
    for before in 0..7 {
        for behind in 0..4 {
            let whole = format!("{}{ODD}{}", "u".repeat(before), "x".repeat(behind));
            let coded = STANDARD.encode(&whole);
            for coded in [coded.clone(), wrapped(&coded)] {
                let masked = masker().text(&format!("Authorization: Basic {coded} ."));
                assert!(masked.contains(MASK), "{masked}");
                // What is left decodes to nothing of it.
                let left: String = masked.split("***").collect::<Vec<_>>().join("");
                assert!(!left.contains(&coded[12..18]), "{masked}");
            }
        }
    }
}

fn wrapped(text: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(8).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join("\r\n")
}

#[test]
fn a_secret_that_repeats_and_backslashes_are_found() {
    let masker = Masker::new([r"a\\b\c1", "aaaaaa"]);
    assert_eq!(masker.text(r"x a\\b\c1 y"), "x *** y");
    assert_eq!(masker.text(r"x a\\\\b\\c1 y"), "x *** y");
    assert_eq!(masker.text("aaaaaaa"), "***a");
    assert_eq!(masker.text("aaaaa"), "aaaaa");
}

#[test]
fn other_texts_stay_as_they_are() {
    for text in ["", "nothing here", "%", "%2", "\\", "\\u00", "a+b%20c\\n", "ä😀", "="] {
        assert_eq!(masker().text(text), text);
        assert_eq!(Masker::default().text(text), text);
    }
    assert_eq!(Masker::new(["short", " "]).text("short "), "short ");
}

#[test]
fn json_stays_json() {
    let masker = Masker::new(["123456", "secret word"]);
    let value = json!({"a secret word": [123456, 7, "x secret word", null], "b": true});
    let masked = json!({"a ***": ["***", 7, "x ***", null], "b": true});
    assert_eq!(masker.json(value), masked);
}

#[test]
fn variables_are_judged_by_their_names_and_addresses_by_their_passwords() {
    let given = [
        ("GITHUB_TOKEN", "tok-123456"),
        ("db_password", "pass word"),
        ("API_KEY", "k-98765"),
        ("DATABASE_URL", "postgres://app:s3cr3t-x@db/shop"),
        ("GREETING", "good morning"),
    ];
    let masker = Masker::default().with_variables(given.into_iter());
    let said = "tok-123456 pass word k-98765 app:s3cr3t-x@db good morning";
    assert_eq!(masker.text(said), "*** *** *** app:***@db good morning");
}

#[test]
fn a_secret_shows_itself_to_nobody() {
    let secret = Secret::from("hush-hush");
    assert_eq!(format!("{secret:?} {:?}", Secret::default()), "Secret(hidden) Secret(none)");
}
