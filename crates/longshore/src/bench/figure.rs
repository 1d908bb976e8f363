//! What a scenario prints: figures, each beside its floor.

use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// One row: what was measured, and what the same SQL makes from a bare loop.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The figure; `None` where this database cannot say.
    pub figure: Option<f64>,
    /// What it is in, such as `jobs/s`.
    pub unit: &'static str,
    /// The same from a bare loop; `None` where there is none.
    pub floor: Option<f64>,
}

impl Figure {
    /// The figure by its floor: of a speed, how much of the floor's is left; of a span, how many times
    /// as long it took.
    pub fn ratio(&self) -> Option<f64> {
        let floor = self.floor.filter(|floor| *floor != 0.0)?;
        Some(self.figure? / floor)
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Figure", 5)?;
        fields.serialize_field("what", &self.what)?;
        fields.serialize_field("figure", &self.figure)?;
        fields.serialize_field("unit", self.unit)?;
        fields.serialize_field("floor", &self.floor)?;
        fields.serialize_field("ratio", &self.ratio())?;
        fields.end()
    }
}

/// Waits, from the shortest to the longest.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread(Vec<f64>);

impl Spread {
    /// Of so many milliseconds each.
    pub fn of(mut waits: Vec<f64>) -> Spread {
        waits.sort_by(f64::total_cmp);
        Spread(waits)
    }

    /// The wait that this part of all is not above; `None` without any.
    pub fn at(&self, part: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        self.0.get((last as f64 * part).round() as usize).copied()
    }

    /// Half are not above the first, 99 of 100 not above the second, none above the third.
    pub fn rows(&self) -> [(&'static str, Option<f64>); 3] {
        [("p50", self.at(0.5)), ("p99", self.at(0.99)), ("longest", self.at(1.0))]
    }
}

/// In milliseconds.
pub(super) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_answers_from_its_own_waits() {
        let spread = Spread::of((1..=101).rev().map(f64::from).collect());
        assert_eq!(spread.rows().map(|(_, wait)| wait), [Some(51.0), Some(100.0), Some(101.0)]);
        assert_eq!(Spread::default().at(0.5), None);
    }

    #[test]
    fn a_ratio_needs_both() {
        let of = |figure, floor| Figure { what: String::new(), figure, unit: "", floor }.ratio();
        assert_eq!(of(Some(1.0), Some(4.0)), Some(0.25));
        assert_eq!((of(None, Some(4.0)), of(Some(1.0), None)), (None, None));
        assert_eq!(of(Some(1.0), Some(0.0)), None);
    }
}
