//! Sets of whole numbers as spans: what is left when ranges are put together.

/// Spans, ends included, in order and apart from each other. [`i64::MAX`] stands for "absent".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Every number, and "absent".
    pub(super) fn all() -> Spans {
        Spans(vec![(i64::MIN, i64::MAX)])
    }

    /// What lies in any of these; one whose ends are the wrong way round is empty.
    pub(super) fn any_of(mut spans: Vec<(i64, i64)>) -> Spans {
        spans.retain(|(from, to)| from <= to);
        spans.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            match joined.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Spans(joined)
    }

    /// What lies in none.
    pub(super) fn complement(&self) -> Spans {
        let (mut rest, mut next) = (Vec::new(), Some(i64::MIN));
        for (from, to) in &self.0 {
            if let Some(start) = next
                && start < *from
            {
                rest.push((start, from - 1));
            }
            next = to.checked_add(1);
        }
        rest.extend(next.map(|start| (start, i64::MAX)));
        Spans(rest)
    }

    /// What lies in both.
    pub(super) fn intersect(&self, other: &Spans) -> Spans {
        let mut both = Vec::new();
        for (a, b) in &self.0 {
            for (c, d) in &other.0 {
                both.push((*a.max(c), *b.min(d)));
            }
        }
        Spans::any_of(both)
    }

    #[cfg(any(feature = "postgres", test))]
    pub(crate) fn is_all(&self) -> bool {
        self.0 == [(i64::MIN, i64::MAX)]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, number: i64) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&number))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn as_slice(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// The least and the greatest number; the wrong way round if there is none.
    pub(crate) fn hull(&self) -> (i64, i64) {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => (first.0, last.1),
            _ => (i64::MAX, i64::MIN),
        }
    }

    /// What is missing inside the hull.
    #[cfg(feature = "sqlite")]
    pub(crate) fn gaps(&self) -> Vec<(i64, i64)> {
        self.0.windows(2).map(|pair| (pair[0].1 + 1, pair[1].0 - 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_put_together() {
        let spans = Spans::any_of(vec![(5, 9), (1, 3), (4, 4), (20, 10), (12, 14)]);
        assert_eq!(spans, Spans(vec![(1, 9), (12, 14)]));
        let rest = Spans(vec![(i64::MIN, 0), (10, 11), (15, i64::MAX)]);
        assert_eq!(spans.complement(), rest);
        assert_eq!(rest.complement(), spans);
        assert_eq!(spans.intersect(&rest), Spans(vec![]));
        assert_eq!(spans.intersect(&Spans(vec![(9, 12)])), Spans(vec![(9, 9), (12, 12)]));
        assert!(Spans(vec![]).complement().is_all() && Spans::all().complement().is_empty());
        assert!(Spans::all().has(i64::MAX) && !spans.has(10) && spans.has(14));
    }
}
