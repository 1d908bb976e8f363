//! The kind `summarize_text`: what a text says, in few words.
//!
//! The sentences that say most of it, in their order: nothing is written that the text does not say. No model, no network,
//! no list of words of a language; the same text gives the same summary. Or the words of a model that the operator names,
//! and the sentences only if that has none.

mod centrality; // which sentences say what the others say
mod endpoint; // a model that writes summaries
mod sentences; // where sentences end, and what their words are

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{KindError, at_most, in_range};
use centrality::Graph;
use endpoint::NoSummary;
pub use endpoint::{Endpoint, EndpointConfig};
use sentences::Sentence;

/// Bytes of a text.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Words of a summary.
pub const MAX_WORDS: u32 = 10_000;

/// Sentences that are closer than this to one that was taken say the same (cosine, 0 to 1).
const SAME: f64 = 0.7;

/// The payload: what to summarise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummarizeText {
    /// The text, in any language; at most [`MAX_TEXT_BYTES`]. An empty line ends a paragraph, and with it a sentence.
    pub text: String,
    /// The most words of the summary, 1 to [`MAX_WORDS`]. Default 100. Words are those of Unicode (UAX 29): of
    /// Chinese each character is one.
    #[serde(default = "default_words")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_words: u32,
}

/// A job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Sentences of the text, in its order; if not even one fits, the best, cut. Or those of a model.
    pub summary: String,
    /// How many words it has.
    pub words: u32,
    /// How many sentences it has.
    pub sentences: u32,
    /// How many the text has.
    pub of_sentences: u32,
    /// How it was made: `extractive`, or `endpoint` by a model.
    pub method: String,
    /// Which model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it was not written by the model that should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
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
        model: None,
        fallback: None,
    })
}

/// The same by a model. If it has no summary and will have none, or this is the last attempt, the summary is extractive, and
/// says why. Dropped, it asks no further.
///
/// # Errors
/// As [`summarize`]; and [`KindError::Endpoint`] if the model may have one the next time.
pub async fn summarize_by(
    endpoint: &Endpoint,
    job: SummarizeText,
    is_last: bool,
) -> Result<Summary, KindError> {
    job.check()?;
    if sentences::words(&job.text) == 0 {
        return Err(KindError::payload("text", "has no words"));
    }
    let why = match endpoint.ask(&job).await {
        Ok(summary) => return Ok(summary),
        Err(later @ NoSummary::Later(_)) if !is_last => return Err(later.into()),
        Err(NoSummary::Later(why) | NoSummary::Never(why)) => why,
    };
    let stop = StopOnDrop::default();
    let stopped = Arc::clone(&stop.0);
    let work = move || summarize(&job, &|| stopped.load(Ordering::Relaxed));
    let made = tokio::task::spawn_blocking(work).await;
    let made = made.map_err(|_| KindError::Cancelled)??;
    Ok(Summary { fallback: Some(format!("the model's endpoint {why}")), ..made })
}

/// Tells a thread that nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
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
