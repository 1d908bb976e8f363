//! What a summary says and how long it is.

use std::collections::HashMap;

use longshore_kinds::{KindError, MAX_TEXT_BYTES, MAX_WORDS, SummarizeText, Summary, summarize};

const SAMPLES: [(&str, &str, &str, u32); 3] = [
    ("en", include_str!("../samples/en.txt"), include_str!("../samples/en.reference.txt"), 90),
    ("de", include_str!("../samples/de.txt"), include_str!("../samples/de.reference.txt"), 80),
    ("zh", include_str!("../samples/zh.txt"), include_str!("../samples/zh.reference.txt"), 130),
];

fn summary(text: &str, max_words: u32) -> Summary {
    let job = SummarizeText { text: text.to_owned(), max_words };
    summarize(&job, &|| false).expect("a summary")
}

/// Units of a text: words in lower case, single Chinese characters.
fn units(text: &str) -> Vec<String> {
    let mut units = vec![String::new()];
    for c in text.chars() {
        if c > '\u{3000}' {
            units.extend([c.to_string(), String::new()]);
        } else if c.is_alphanumeric() {
            units.last_mut().expect("never empty").extend(c.to_lowercase());
        } else {
            units.push(String::new());
        }
    }
    units.retain(|unit| unit.chars().any(char::is_alphanumeric));
    units
}

/// ROUGE-2 (Lin 2004): F1 of the pairs of units that two texts have in common.
fn rouge_2(text: &str, reference: &str) -> f64 {
    let pairs = |text: &str| {
        let mut pairs: HashMap<(String, String), usize> = HashMap::new();
        for pair in units(text).windows(2) {
            *pairs.entry((pair[0].clone(), pair[1].clone())).or_default() += 1;
        }
        pairs
    };
    let (ours, theirs) = (pairs(text), pairs(reference));
    let common: usize =
        ours.iter().map(|(pair, n)| theirs.get(pair).copied().unwrap_or_default().min(*n)).sum();
    let of = |pairs: &HashMap<_, usize>| pairs.values().sum::<usize>() as f64;
    2.0 * common as f64 / (of(&ours) + of(&theirs))
}

/// The first sentences, as long as they fit: what a summary has to be better than.
fn first_sentences(text: &str, max_words: u32) -> String {
    let mut first = String::new();
    for end in text.char_indices().filter(|(_, c)| ".!?。！？".contains(*c)) {
        let part = &text[..end.0 + end.1.len_utf8()];
        if units(part).len() > max_words as usize {
            break;
        }
        first = part.to_owned();
    }
    first
}

#[test]
fn it_says_more_of_a_text_than_its_first_sentences_do() {
    for (language, text, reference, words) in SAMPLES {
        let made = summary(text, words);
        let (ours, first) =
            (rouge_2(&made.summary, reference), rouge_2(&first_sentences(text, words), reference));
        println!("{language}: ROUGE-2 {ours:.3}, first sentences {first:.3}\n{}\n", made.summary);
        assert!(ours > first, "{language}: {ours} against {first}");
    }
}

#[test]
fn sentences_are_the_texts_own_in_its_order_and_fit() {
    for (language, text, ..) in SAMPLES {
        let flat = text.replace('\n', " ");
        for words in [1, 5, 20, 60, 200, MAX_WORDS] {
            let made = summary(text, words);
            assert!(made.words <= words, "{language}, {words}: {made:?}");
            assert!(made.words > 0 && made.sentences >= 1 && made.sentences <= made.of_sentences);
            let mut from = 0;
            for sentence in made.summary.trim_end_matches('…').split_inclusive(['.', '。']) {
                let found = flat[from..].find(sentence.trim());
                let at = found.unwrap_or_else(|| panic!("{language}, {words}: {sentence}"));
                from += at + sentence.trim().len();
            }
            assert_eq!(made, summary(text, words), "the same each time");
        }
        let all = summary(text, MAX_WORDS);
        assert_eq!(all.sentences, all.of_sentences, "{language}: all of it fits");
    }
}

#[test]
fn what_is_said_twice_is_taken_once() {
    let text = "The bridge is closed until May. Trains stop at the old station. The bridge is closed until May. \
                Buses go to the old station. The bridge is closed until May.";
    let made = summary(text, 100);
    assert_eq!(made.summary.matches("bridge").count(), 1, "{made:?}");
    assert_eq!((made.sentences, made.of_sentences), (3, 5));
}

#[test]
fn a_text_that_cannot_be_summarised_is_refused_by_name() {
    let refused = |text: &str, max_words| {
        let job = SummarizeText { text: text.to_owned(), max_words };
        let error = summarize(&job, &|| false).expect_err("refused");
        assert!(error.is_permanent());
        error.to_string()
    };
    assert_eq!(refused("a", 0), "`max_words` is 0, it must be from 1 to 10000");
    assert_eq!(refused("a", MAX_WORDS + 1), "`max_words` is 10001, it must be from 1 to 10000");
    assert_eq!(refused("", 1), "`text` has no words");
    assert_eq!(refused(" …\n\n—", 1), "`text` has no words");
    let long = "a".repeat(MAX_TEXT_BYTES + 1);
    assert_eq!(refused(&long, 1), "`text` is too large: 1048577 bytes, the limit is 1048576");
}

#[test]
fn a_cancel_is_heeded() {
    let job = SummarizeText::new("One thing. Another thing.");
    assert!(matches!(summarize(&job, &|| true), Err(KindError::Cancelled)));
}

#[test]
fn any_text_has_a_summary_that_fits() {
    let alphabet: Vec<char> =
        "ab .!?\n。中文字ä\u{301}'\"-…\u{200d}👩🏽\u{202e}\u{0}1.A".chars().collect();
    for seed in 0..2_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let length = rng.usize(..200);
        let text: String = (0..length).map(|_| alphabet[rng.usize(..alphabet.len())]).collect();
        let max_words = rng.u32(1..30);
        let job = SummarizeText { text, max_words };
        match summarize(&job, &|| false) {
            Ok(made) => assert!((1..=max_words).contains(&made.words), "{job:?}: {made:?}"),
            Err(KindError::Payload { field: "text", .. }) => {}
            Err(error) => panic!("{job:?}: {error}"),
        }
    }
    // The longest texts, of the worst kinds.
    for part in ["a. ", "word ", "中文。", "A.\n\n", ".", "x. X. "] {
        let text = part.repeat(MAX_TEXT_BYTES / part.len());
        let job = SummarizeText { text, max_words: MAX_WORDS };
        match summarize(&job, &|| false) {
            Ok(made) => assert!(made.words <= MAX_WORDS),
            Err(error) => assert_eq!(error.to_string(), "`text` has no words"),
        }
    }
}
