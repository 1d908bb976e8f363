//! Payloads out of each kind's own schema, good and broken: no panic, no long wait, and each refusal names its field.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use longshore_kinds::{
    Exec, ExecConfig, ExecFor, Fail, FilesRoot, HttpRequest, ImageLimits, KindError, PoolConfig,
    Pools, ProcessPool, ResizeImage, SendEmail, Sleep, SmtpConfig, SummarizeText, WebhookDelivery,
    execute, read, resize, sample, schemas, summarize,
};
use serde_json::{Map, Value, json};

/// So many of each, good and broken.
const ROUNDS: usize = 150;
/// No payload takes longer, not even in a debug build on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(30);

/// Texts that mean something to some kind, and such as go wrong.
const TEXTS: &[&str] = &[
    "",
    "coffee.jpg",
    "out/small.png",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "/bin/echo",
    "/bin/true",
    "$(id); `id`",
    "--help",
    "GREETING",
    "LD_PRELOAD",
    "p",
    "anna@example.org",
    "Anna <anna@example.org>",
    "a@b\r\nBcc: c@example.org",
    "\"@\"@@",
    "<<<>>>",
    "text/plain",
    "aGVsbG8=",
    "===",
    "One sentence. And one more, e.g. this: 3. Oktober!",
    "猫が屋根の上にいる。雨が降る。",
    "\u{202e}\u{0}\u{feff}\u{2028}e\u{301}\u{1f468}\u{200d}\u{1f469}",
];

type Work<'a> = Box<dyn Fn(&str) -> Result<(), KindError> + 'a>;

fn done<T>(_: T) {}

#[test]
fn whatever_a_schema_allows_or_not_a_refusal_names_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("coffee.jpg"), sample::COFFEE_JPG).expect("a file");
    let root = Arc::new(FilesRoot::open(folder.path()).expect("it opens"));
    let limits = ImageLimits { output_pixels: 300_000, ..ImageLimits::default() };
    let exec = ExecConfig {
        programs: vec!["/bin/echo".into(), "/bin/true".into()],
        variables: vec!["GREETING".to_owned()],
        ..ExecConfig::default()
    };
    let of = ExecFor { job: "the-job".to_owned(), attempt: 1 };
    let smtp = SmtpConfig {
        from: Some(SmtpConfig::sender("shop@example.com").expect("an address")),
        ..SmtpConfig::default()
    };
    let pool = BTreeMap::from([("p".to_owned(), PoolConfig::new(["/bin/cat"]))]);
    let pools = Pools::new(&pool, &root, &[]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("one");
    let never = || false;
    let work: BTreeMap<&str, Work<'_>> = BTreeMap::from([
        ("noop", Box::new(|_: &str| Ok(())) as Work<'_>),
        ("sleep", Box::new(|text: &str| read::<Sleep>(text)?.duration().map(done))),
        ("fail", Box::new(|text: &str| read::<Option<Fail>>(text).map(done))),
        (
            "resize_image",
            Box::new(|text: &str| {
                resize(&read::<ResizeImage>(text)?, &root, &limits, &never).map(done)
            }),
        ),
        (
            "exec",
            Box::new(|text: &str| {
                execute(&read::<Exec>(text)?, (&root, &exec), &of, &never).map(done)
            }),
        ),
        (
            "summarize_text",
            Box::new(|text: &str| summarize(&read::<SummarizeText>(text)?, &never).map(done)),
        ),
        // Of requests only what the payload says: the rest needs a network.
        ("http_request", Box::new(|text: &str| read::<HttpRequest>(text)?.check())),
        ("webhook_delivery", Box::new(|text: &str| read::<WebhookDelivery>(text)?.check())),
        ("send_email", Box::new(|text: &str| read::<SendEmail>(text)?.check(&smtp))),
        (
            "process_pool",
            Box::new(|text: &str| {
                let job = read::<ProcessPool>(text)?;
                // What it answers is what it was asked, which is no answer; each gets a new process, after a rest.
                let asked = pools.run(&job, "the-job", Arc::new(|_| {}));
                let in_time = runtime.block_on(async {
                    tokio::time::timeout(Duration::from_millis(20), asked).await
                });
                in_time.map_or(Ok(()), |answer| answer.map(done))
            }),
        ),
    ]);
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    for (kind, schema) in schemas() {
        let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
        let maker = Maker { root: &schema };
        let work = work.get(kind).unwrap_or_else(|| panic!("{kind} is not tried"));
        let (mut well, mut refused) = (0, 0);
        for round in 0..ROUNDS * 2 {
            let broken = round >= ROUNDS;
            let mut payload = maker.make("", &schema, &mut rng, 0);
            if broken {
                break_it(&mut payload, &mut rng);
            }
            let text = payload.to_string();
            let shown: String = text.chars().take(500).collect();
            let from = Instant::now();
            let ended = catch_unwind(AssertUnwindSafe(|| work(&text)))
                .unwrap_or_else(|_| panic!("{kind} panics, SEED={seed}: {shown}"));
            assert!(from.elapsed() < LIMIT, "{kind} takes {:?}: {shown}", from.elapsed());
            match ended {
                Ok(()) => well += 1,
                Err(error) => {
                    refused += 1;
                    judge(kind, &schema, &error, broken).unwrap_or_else(|why| {
                        panic!("{kind}: {error}: {why}, SEED={seed}: {shown}")
                    });
                }
            }
        }
        println!("{kind}: {well} well, {refused} refused");
        assert!(well > 0, "{kind}: the schema gives nothing that works");
        let takes_all = fields(&schema).is_empty();
        assert!(refused > 0 || takes_all, "{kind}: nothing is refused");
    }
}

/// Whether a refusal is one that a person can work with.
fn judge(kind: &str, schema: &Value, error: &KindError, broken: bool) -> Result<(), String> {
    let words = error.to_string();
    match error {
        // About the work, not about the payload.
        KindError::Exit { .. } | KindError::Process { .. } => Ok(()),
        KindError::Misfit { .. } if !broken => {
            Err("what the schema allows does not fit".to_owned())
        }
        _ => {
            if words.chars().any(char::is_control) {
                return Err("it has control characters".to_owned());
            }
            let fields = fields(schema);
            let is_named = |field: &String| {
                words.contains(&format!("`{field}`"))
                    || words.contains(&format!("`{field}."))
                    || words.contains(&format!("`{field}["))
            };
            // One that is not known is named by itself; what is no object is the payload.
            let known = fields.iter().any(is_named);
            if known || words.contains("unknown field `") || words.starts_with("`payload`") {
                return Ok(());
            }
            Err(format!("it names no field of {kind}"))
        }
    }
}

/// The names of all fields in a schema.
fn fields(schema: &Value) -> Vec<String> {
    let own = schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned();
    let inner: Vec<&Value> = match schema {
        Value::Object(all) => all.values().collect(),
        Value::Array(all) => all.iter().collect(),
        _ => Vec::new(),
    };
    own.chain(inner.into_iter().flat_map(fields)).collect()
}

/// Makes values that a schema allows.
struct Maker<'a> {
    root: &'a Value,
}

impl Maker<'_> {
    fn make(&self, field: &str, schema: &Value, rng: &mut Rng, depth: usize) -> Value {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let found = self.root.pointer(name.trim_start_matches('#')).expect("it is there");
            return self.make(field, found, rng, depth);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array) {
                return self.make(field, &choices[rng.usize(..choices.len())], rng, depth);
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values[rng.usize(..values.len())].clone();
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.as_str(),
            Value::Array(kinds) => kinds[rng.usize(..kinds.len())].as_str().expect("a name"),
            _ => return anything(rng, depth),
        };
        match kind {
            "object" => self.object(field, schema, rng, depth),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
                let most = schema["maxItems"].as_u64().unwrap_or(4).min(4) as usize;
                let count = rng.usize(least..=most.max(least));
                (0..count).map(|_| self.make(field, &schema["items"], rng, depth + 1)).collect()
            }
            "string" => fitting(field, rng).into(),
            "integer" | "number" => {
                let least = schema["minimum"].as_f64().unwrap_or(0.0);
                let most = schema["maximum"].as_f64().unwrap_or(300.0);
                // Mostly small ones, so that pictures and pauses stay so.
                let value = match rng.u8(..8) {
                    0 => least,
                    1 => most,
                    _ => least + rng.f64() * (most - least).min(300.0),
                };
                if kind == "integer" { (value as i64).into() } else { json!(value) }
            }
            "boolean" => rng.bool().into(),
            "null" => Value::Null,
            other => panic!("no values of type {other}"),
        }
    }

    fn object(&self, field: &str, schema: &Value, rng: &mut Rng, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            if is_required(name) || rng.u8(..3) == 0 {
                object.insert(name.clone(), self.make(name, inner, rng, depth + 1));
            }
        }
        if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
            for _ in 0..rng.usize(..3) {
                object.insert(
                    fitting(&format!("a {field}"), rng),
                    self.make("", inner, rng, depth + 1),
                );
            }
        }
        object.into()
    }
}

/// Mostly a text that means something in this field, so that there is work to do.
fn fitting(field: &str, rng: &mut Rng) -> String {
    let fits: &[&str] = match field {
        "to" | "cc" | "bcc" | "reply_to" => &["anna@example.org", "Anna <anna@example.org>"],
        "from" => &["shop@example.com"],
        "source" => &["coffee.jpg"],
        "output" => &["out/small.png", "x.webp"],
        "argv" => &["/bin/echo", "/bin/true"],
        "cwd" => &[".", "out"],
        "pool" => &["p"],
        "url" => &["https://example.org/hook", "http://example.org:8080/?a=b#c"],
        "method" => &["GET", "POST"],
        "secret" => &["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "name" => &["a.txt"],
        "content_type" => &["text/plain", "application/pdf"],
        "content" => &["aGVsbG8="],
        "a env" => &["GREETING"],
        "a headers" => &["X-Shop", "List-Unsubscribe"],
        _ => &[],
    };
    match fits.len() {
        1.. if rng.u8(..16) > 0 => fits[rng.usize(..fits.len())].to_owned(),
        _ => text(rng),
    }
}

fn text(rng: &mut Rng) -> String {
    let one = TEXTS[rng.usize(..TEXTS.len())];
    match rng.u8(..16) {
        0 => one.repeat(rng.usize(..300)),
        1 => (0..rng.usize(..40)).map(|_| rng.char(..)).collect(),
        _ => one.to_owned(),
    }
}

fn anything(rng: &mut Rng, depth: usize) -> Value {
    match rng.u8(..if depth > 3 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => [i64::MIN, -1, 0, i64::MAX][rng.usize(..4)].into(),
        3 => json!([-1e300, 0.5, 1e300][rng.usize(..3)]),
        4 => text(rng).into(),
        5 => (0..rng.usize(..4)).map(|_| anything(rng, depth + 1)).collect(),
        _ => (0..rng.usize(..4))
            .map(|_| (text(rng), anything(rng, depth + 1)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

/// Changes one place of a value, in its depth or here.
fn break_it(value: &mut Value, rng: &mut Rng) {
    let deeper = rng.u8(..3) > 0;
    match value {
        Value::Object(object) if deeper && !object.is_empty() => {
            let nth = rng.usize(..object.len());
            break_it(object.values_mut().nth(nth).expect("it is there"), rng);
        }
        Value::Array(array) if deeper && !array.is_empty() => {
            let nth = rng.usize(..array.len());
            break_it(&mut array[nth], rng);
        }
        Value::Object(object) => match rng.u8(..3) {
            0 => {
                object.insert(text(rng), anything(rng, 0));
            }
            1 if !object.is_empty() => {
                let name = object.keys().nth(rng.usize(..object.len())).cloned();
                object.remove(&name.expect("it is there"));
            }
            _ => *value = anything(rng, 0),
        },
        Value::Array(array) if rng.bool() => {
            let more = array.first().cloned().unwrap_or(Value::Null);
            array.extend(std::iter::repeat_n(more, 2_000));
        }
        _ => *value = anything(rng, 0),
    }
}
