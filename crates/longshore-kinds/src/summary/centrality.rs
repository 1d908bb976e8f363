//! Which sentences say what the others say: continuous LexRank (Erkan and Radev 2004, doi:10.1613/jair.1523).
//!
//! Sentences are vectors of words, weighted by tf-idf over the sentences; two are as similar as the cosine between
//! them. A walk goes from sentence to similar sentence, and now and then anywhere; where it is most often is what the
//! text is about. The matrix of similarities is never made: to multiply with it is two passes over the words, so time
//! and memory grow with the text, and not with its square.

use std::collections::HashMap;

/// The part of the steps that follow similarity, as in the paper's source (Page and others 1999).
const DAMPING: f64 = 0.85;
const MOST_STEPS: usize = 100;
/// The walk stands still when all changes together are smaller.
const STILL: f64 = 1e-9;
/// Less is nothing but rounding.
const NOTHING: f64 = 1e-12;

/// Sentences as vectors of length 1, or of no length where all words are everywhere.
pub(super) struct Graph {
    /// Of each sentence the terms, ascending, with their weights.
    rows: Vec<Vec<(usize, f64)>>,
    terms: usize,
}

impl Graph {
    pub fn of(sentences: &[Vec<String>]) -> Graph {
        // In the order of their first use, so that sums come out the same each time.
        let mut ids: HashMap<&str, usize> = HashMap::new();
        let mut found_in: Vec<f64> = Vec::new();
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let mut row: Vec<usize> = sentence
                .iter()
                .map(|term| {
                    let next = ids.len();
                    *ids.entry(term).or_insert(next)
                })
                .collect();
            row.sort_unstable();
            found_in.resize(ids.len(), 0.0);
            let counted = row.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64));
            let counted: Vec<_> = counted.inspect(|(term, _)| found_in[*term] += 1.0).collect();
            rows.push(counted);
        }
        let all = sentences.len() as f64;
        for row in &mut rows {
            for (term, weight) in row.iter_mut() {
                *weight *= (all / found_in[*term]).ln();
            }
            let length = row.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
            match length > NOTHING {
                true => row.iter_mut().for_each(|(_, weight)| *weight /= length),
                false => row.clear(),
            }
        }
        Graph { rows, terms: ids.len() }
    }

    /// How often the walk is at each sentence; all together 1. `None` if it was stopped.
    pub fn ranks(&self, stopped: &dyn Fn() -> bool) -> Option<Vec<f64>> {
        let count = self.rows.len();
        let even = 1.0 / count as f64;
        let reach = self.times(&vec![1.0; count]);
        let mut ranks = vec![even; count];
        for _ in 0..MOST_STEPS {
            if stopped() {
                return None;
            }
            let steps: Vec<f64> = ranks
                .iter()
                .zip(&reach)
                .map(|(rank, reach)| if *reach > NOTHING { rank / reach } else { 0.0 })
                .collect();
            // From a sentence that is like no other it goes anywhere.
            let lost: f64 = ranks
                .iter()
                .zip(&reach)
                .filter(|(_, reach)| **reach <= NOTHING)
                .map(|(rank, _)| rank)
                .sum();
            let mut next = self.times(&steps);
            for rank in &mut next {
                *rank = (1.0 - DAMPING) * even + DAMPING * (*rank + lost * even);
            }
            let moved: f64 = ranks.iter().zip(&next).map(|(old, new)| (old - new).abs()).sum();
            ranks = next;
            if moved < STILL {
                break;
            }
        }
        Some(ranks)
    }

    /// The matrix of similarities, without those of sentences with themselves, times a vector.
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut by_term = vec![0.0; self.terms];
        for (row, value) in self.rows.iter().zip(vector) {
            for (term, weight) in row {
                by_term[*term] += weight * value;
            }
        }
        self.rows
            .iter()
            .zip(vector)
            .map(|(row, value)| {
                let with_itself = if row.is_empty() { 0.0 } else { *value };
                let all: f64 = row.iter().map(|(term, weight)| weight * by_term[*term]).sum();
                (all - with_itself).max(0.0)
            })
            .collect()
    }

    /// 0: no word in common; 1: the same words.
    pub fn similarity(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.rows[a], &self.rows[b]);
        let (mut at, mut sum) = (0, 0.0);
        for (term, weight) in a {
            while b.get(at).is_some_and(|(other, _)| other < term) {
                at += 1;
            }
            if let Some((_, other)) = b.get(at).filter(|(other, _)| other == term) {
                sum += weight * other;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(sentences: &[&str]) -> Graph {
        let split = |text: &&str| text.split(' ').map(str::to_owned).collect();
        Graph::of(&sentences.iter().map(split).collect::<Vec<_>>())
    }

    fn ranks(sentences: &[&str]) -> Vec<f64> {
        graph(sentences).ranks(&|| false).expect("nobody stops it")
    }

    #[test]
    fn it_is_the_walk_over_the_matrix() {
        let sentences = ["a b c", "b c d d", "c d e", "e f", "g h", "a g b"];
        let graph = graph(&sentences);
        let n = sentences.len();
        let like = |i: usize, j: usize| if i == j { 0.0 } else { graph.similarity(i, j) };
        let reach: Vec<f64> = (0..n).map(|i| (0..n).map(|j| like(i, j)).sum()).collect();
        let mut slow = vec![1.0 / n as f64; n];
        for _ in 0..500 {
            slow = (0..n)
                .map(|j| {
                    let came: f64 = (0..n).map(|i| slow[i] * like(i, j) / reach[i]).sum();
                    (1.0 - DAMPING) / n as f64 + DAMPING * came
                })
                .collect();
        }
        for (fast, slow) in ranks(&sentences).iter().zip(&slow) {
            assert!((fast - slow).abs() < 1e-6, "{fast} {slow}");
        }
    }

    #[test]
    fn all_ranks_are_one_together_whatever_is_alone() {
        for sentences in [
            &["a"][..],
            &["a", "a"],
            &["a b", "c d", "e f"],
            &["a b", "b a", "x"],
            &["a a a", "a b", "b"],
        ] {
            let ranks = ranks(sentences);
            assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{sentences:?}: {ranks:?}");
        }
        let hub = ranks(&["sun moon", "moon star", "star sun moon", "fish"]);
        assert!(hub[2] > hub[0] && hub[2] > hub[1] && hub[0] > hub[3], "{hub:?}");
    }

    #[test]
    fn a_stop_is_heeded() {
        assert_eq!(graph(&["a b", "b c"]).ranks(&|| true), None);
    }
}
