//! Where sentences end, and what their words are: by Unicode's rules (UAX 29), and a little more.

use unicode_segmentation::UnicodeSegmentation;

/// After these a sentence goes on, though a stop and a capital letter follow. Without case.
const ABBREVIATIONS: [&str; 38] = [
    "al", "approx", "art", "bzw", "ca", "capt", "cf", "co", "col", "dept", "dr", "etc", "evtl",
    "fig", "gen", "ggf", "gov", "hr", "hrsg", "inc", "jr", "lt", "ltd", "mr", "mrs", "ms", "mt",
    "no", "nr", "prof", "rev", "sen", "sr", "st", "str", "usw", "vgl", "vs",
];

/// A sentence without space around it.
pub(super) struct Sentence {
    text: String,
    words: usize,
}

/// The sentences of a text that have a word.
pub(super) fn of(text: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for paragraph in paragraphs(text) {
        let mut open = String::new();
        let mut parts = paragraph.split_sentence_bounds().peekable();
        while let Some(part) = parts.next() {
            open.push_str(part);
            if !goes_on(&open) && !parts.peek().is_some_and(|next| is_said(&open, next)) {
                sentences.extend(Sentence::new(&open));
                open.clear();
            }
        }
        sentences.extend(Sentence::new(&open));
    }
    sentences
}

/// Between empty lines; other ends of lines are space.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines().map(str::trim) {
        match paragraphs.last_mut() {
            Some(last) if !line.is_empty() => push(last, line),
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs
}

/// With a space between, where the language has such.
fn push(text: &mut String, more: &str) {
    let is_dense = |c: Option<char>| c.is_some_and(is_dense);
    let (before, after) = (text.chars().next_back(), more.chars().next());
    if before.is_some() && !(is_dense(before) && is_dense(after)) {
        text.push(' ');
    }
    text.push_str(more);
}

/// Sentences in a row.
pub(super) fn joined<'a>(sentences: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    sentences.for_each(|sentence| push(&mut text, sentence));
    text
}

/// How many words a text has.
pub(super) fn words(text: &str) -> usize {
    text.unicode_words().count()
}

/// Whether what ends here ends with an abbreviation, a single letter, or a number with a stop (`3. Oktober`).
fn goes_on(text: &str) -> bool {
    let Some(last) = text.split_whitespace().next_back() else { return false };
    let Some(word) = last.strip_suffix('.') else { return false };
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let mut parts = word.split('.');
    let is_number = (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    let short = |part: &str| part.chars().count() <= 2 && part.chars().all(char::is_alphabetic);
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let lower = word.to_lowercase();
    is_number
        || is_letter
        || (word.contains('.') && parts.all(short))
        || ABBREVIATIONS.contains(&lower.as_str())
}

/// Whether one is what somebody said, and the next goes on with who that was.
fn is_said(text: &str, next: &str) -> bool {
    text.trim_end().ends_with(['"', '”', '’', '»', '«', '“'])
        && next.chars().next().is_some_and(char::is_lowercase)
}

impl Sentence {
    fn new(text: &str) -> Option<Sentence> {
        let text = text.trim();
        let words = words(text);
        (words > 0).then(|| Sentence { text: text.to_owned(), words })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn words(&self) -> usize {
        self.words
    }

    /// What it is compared by: words in lower case; where words are not written apart, pairs of characters.
    pub fn terms(&self) -> Vec<String> {
        let mut terms = Vec::new();
        let mut before: Option<char> = None;
        for part in self.text.split_word_bounds() {
            let mut letters = part.chars();
            let single = letters.next().filter(|c| is_ideograph(*c) && letters.next().is_none());
            match (before, single) {
                (Some(before), Some(now)) => terms.push([before, now].into_iter().collect()),
                (_, None) if part.chars().any(char::is_alphanumeric) => {
                    terms.push(part.to_lowercase());
                }
                _ => {}
            }
            before = single;
        }
        terms
    }

    /// Its first words, and a mark that there are more.
    pub fn cut(&self, most: usize) -> String {
        match self.text.unicode_word_indices().nth(most.saturating_sub(1)) {
            Some((at, word)) if at + word.len() < self.text.len() && most < self.words => {
                format!("{}…", &self.text[..at + word.len()])
            }
            _ => self.text.clone(),
        }
    }
}

/// Chinese characters, and Japanese hiragana: each is a word to Unicode.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// No space stands beside these.
fn is_dense(c: char) -> bool {
    is_ideograph(c)
        || matches!(c, '\u{3000}'..='\u{303f}' | '\u{30a0}'..='\u{30ff}' | '\u{ff00}'..='\u{ffef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        of(text).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        for (text, expected) in [
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"][..]),
            (
                "Dr. Ada met Mr. B. Smith. They talked.",
                &["Dr. Ada met Mr. B. Smith.", "They talked."],
            ),
            (
                "Am 3. Oktober kam z. B. Herr Prof. Weiß. Er blieb.",
                &["Am 3. Oktober kam z. B. Herr Prof. Weiß.", "Er blieb."],
            ),
            (
                "It costs 3.50 euros, e.g. Today it rains.",
                &["It costs 3.50 euros, e.g. Today it rains."],
            ),
            ("In 1999. Then more.", &["In 1999.", "Then more."]),
            ("他来了。她走了！为什么？", &["他来了。", "她走了！", "为什么？"]),
            (
                "A line\nthat goes on.\n\nA heading\n\nMore.",
                &["A line that goes on.", "A heading", "More."],
            ),
            ("他\n来了。", &["他来了。"]),
            ("\"Go!\" she said. He went.", &["\"Go!\" she said.", "He went."]),
            ("... --- !!!\n\n\u{0}", &[]),
            ("", &[]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn terms_are_words_or_pairs_of_characters() {
        let terms = |text: &str| of(text)[0].terms();
        assert_eq!(terms("The cat's Äpfel, 3.5!"), ["the", "cat's", "äpfel", "3.5"]);
        assert_eq!(terms("我爱北京。"), ["我爱", "爱北", "北京"]);
        assert_eq!(terms("用 Rust 写的"), ["rust", "写的"]);
    }

    #[test]
    fn a_cut_is_between_words() {
        let cut = |most| of("One two, three four.")[0].cut(most);
        assert_eq!(
            [cut(1), cut(2), cut(4), cut(9)],
            ["One…", "One two…", "One two, three four.", "One two, three four."]
        );
    }

    #[test]
    fn sentences_are_joined_as_the_language_does() {
        assert_eq!(joined(["A.", "B."].into_iter()), "A. B.");
        assert_eq!(joined(["他来了。", "她走了。"].into_iter()), "他来了。她走了。");
    }
}
