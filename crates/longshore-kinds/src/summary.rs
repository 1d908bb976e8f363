//! The kind `summarize_text`: the sentences that say most of a text, in their order.
//!
//! Extractive: nothing is written that the text does not say. No model, no network, no list of words of a language;
//! the same text gives the same summary.

mod centrality; // which sentences say what the others say
mod sentences; // where sentences end, and what their words are

use serde::{Deserialize, Serialize};

use crate::error::{KindError, at_most, in_range};
use centrality::Graph;
use sentences::Sentence;

/// Bytes of a text.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Words of a summary.
pub const MAX_WORDS: u32 = 10_000;

/// Sentences that are closer than this to one that was taken say the same (cosine, 0 to 1).
const SAME: f64 = 0.7;

/// The payload: what to summarise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummarizeText {
    /// The text, in any language; at most [`MAX_TEXT_BYTES`]. An empty line ends a paragraph, and with it a sentence.
    pub text: String,
    /// The most words of the summary, 1 to [`MAX_WORDS`]. Default 100. Words are those of Unicode (UAX 29): of
    /// Chinese each character is one.
    #[serde(default = "default_words")]
    pub max_words: u32,
}

/// A job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Sentences of the text, in its order; if not even one fits, the best, cut.
    pub summary: String,
    /// How many words it has.
    pub words: u32,
    /// How many sentences it has.
    pub sentences: u32,
    /// How many the text has.
    pub of_sentences: u32,
    /// How it was made: `extractive`.
    pub method: String,
}

impl SummarizeText {
    /// The job with every default; change fields as needed.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), max_words: default_words() }
    }

    /// Looks at the payload alone; [`summarize`] does the same first.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field.
    pub fn check(&self) -> Result<(), KindError> {
        in_range("max_words", self.max_words, MAX_WORDS)?;
        at_most("text", self.text.len() as u64, "bytes", MAX_TEXT_BYTES as u64)
    }
}

/// Does the work of one `summarize_text` job. Blocks on the processor, for some tenths of a second with the longest
/// text; `cancelled` is asked meanwhile.
///
/// # Errors
/// [`KindError::Payload`] also for a text without any word; [`KindError::Cancelled`].
pub fn summarize(job: &SummarizeText, cancelled: &dyn Fn() -> bool) -> Result<Summary, KindError> {
    job.check()?;
    let all = sentences::of(&job.text);
    if all.is_empty() {
        return Err(KindError::payload("text", "has no words"));
    }
    let graph = Graph::of(&all.iter().map(Sentence::terms).collect::<Vec<_>>());
    let ranks = graph.ranks(cancelled).ok_or(KindError::Cancelled)?;
    let mut order: Vec<usize> = (0..all.len()).collect();
    // Stable: of two that say as much the first is taken.
    order.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]));
    let taken = take(&all, &graph, &order, job.max_words as usize, cancelled)?;
    let (summary, sentences) = match taken.is_empty() {
        true => (all[order[0]].cut(job.max_words as usize), 1),
        false => (sentences::joined(taken.iter().map(|at| all[*at].text())), taken.len()),
    };
    Ok(Summary {
        words: sentences::words(&summary) as u32,
        summary,
        sentences: sentences as u32,
        of_sentences: all.len() as u32,
        method: "extractive".to_owned(),
    })
}

/// The best first, as long as words are left; none that says what another one says.
fn take(
    all: &[Sentence],
    graph: &Graph,
    order: &[usize],
    max_words: usize,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<usize>, KindError> {
    let mut left = max_words;
    let mut taken: Vec<usize> = Vec::new();
    for &at in order {
        if left == 0 {
            break;
        }
        if cancelled() {
            return Err(KindError::Cancelled);
        }
        let words = all[at].words();
        if words <= left && taken.iter().all(|other| graph.similarity(at, *other) < SAME) {
            left -= words;
            taken.push(at);
        }
    }
    taken.sort_unstable();
    Ok(taken)
}

fn default_words() -> u32 {
    100
}
