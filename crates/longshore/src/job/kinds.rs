//! Two types with one kind, found while the program is compiled.

/// Does not compile if two of these job types have one kind, or one has an alias that is another's
/// kind. [`crate::Worker::start`] refuses the same when the program runs; this says so earlier, of all
/// types that it lists.
///
/// ```
/// # use longshore::Job;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct SendEmail;
/// # impl Job for SendEmail { const KIND: &'static str = "email.send"; type Output = (); }
/// # #[derive(Serialize, Deserialize)] struct Resize;
/// # impl Job for Resize { const KIND: &'static str = "resize"; type Output = (); }
/// longshore::distinct_kinds!(SendEmail, Resize);
/// ```
#[macro_export]
macro_rules! distinct_kinds {
    ($($job:ty),+ $(,)?) => {
        const _: () = {
            let names: &[(&str, &[&str])] = &[
                $((<$job as $crate::Job>::KIND, <$job as $crate::Job>::ALIASES)),+
            ];
            if let Some(kind) = $crate::job::kinds::doubled(names) {
                panic!("{}", $crate::job::kinds::Fault::new(kind).text());
            }
        };
    };
}

/// A name that comes twice among kinds and their aliases.
pub const fn doubled<'a>(names: &[(&'a str, &'a [&'a str])]) -> Option<&'a str> {
    let mut first = 0;
    while let Some(name) = nth(names, first) {
        let mut second = first + 1;
        while let Some(other) = nth(names, second) {
            if same(name, other) {
                return Some(name);
            }
            second += 1;
        }
        first += 1;
    }
    None
}

/// The name at this place: the first type's kind, its aliases, the next type's kind, …
const fn nth<'a>(names: &[(&'a str, &'a [&'a str])], mut at: usize) -> Option<&'a str> {
    let mut job = 0;
    while job < names.len() {
        let (kind, aliases) = names[job];
        if at == 0 {
            return Some(kind);
        }
        if at <= aliases.len() {
            return Some(aliases[at - 1]);
        }
        at -= 1 + aliases.len();
        job += 1;
    }
    None
}

/// `==` is no constant function yet.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

const BEFORE: &str = "two job types have the kind or alias `";
const AFTER: &str = "`; each name belongs to one type";

/// What the compiler says; a constant panic takes one finished text.
pub struct Fault {
    text: [u8; 512],
    size: usize,
}

impl Fault {
    /// About this kind.
    pub const fn new(kind: &str) -> Fault {
        Fault { text: [0; 512], size: 0 }.and(BEFORE).and(kind).and(AFTER)
    }

    const fn and(mut self, part: &str) -> Fault {
        let mut at = 0;
        while at < part.len() && self.size < self.text.len() {
            self.text[self.size] = part.as_bytes()[at];
            self.size += 1;
            at += 1;
        }
        self
    }

    /// In words.
    pub const fn text(&self) -> &str {
        match std::str::from_utf8(self.text.split_at(self.size).0) {
            Ok(text) => text,
            // Cut in the middle of a character: a kind that is far too long to be one.
            Err(_) => "two job types have one kind",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_aliases_are_one_list_of_names() {
        let two = |a, b| doubled(&[a, b]);
        assert_eq!(two(("a", &["b", "c"]), ("d", &[])), None);
        assert_eq!(two(("a", &[]), ("a", &[])), Some("a"));
        assert_eq!(two(("a", &["b", "c"]), ("c", &[])), Some("c"));
        assert_eq!(two(("a", &["b"]), ("d", &["e", "b"])), Some("b"));
        assert_eq!(two(("a", &[]), ("ab", &[])), None);
        assert_eq!(doubled(&[("a", &["a"])]), Some("a"));
    }

    #[test]
    fn the_fault_names_the_kind() {
        let text = "two job types have the kind or alias `ä`; each name belongs to one type";
        assert_eq!(Fault::new("ä").text(), text);
        // Wherever the cut falls: between two characters, or in one.
        let long = ["", "a"].map(|first| Fault::new(&(first.to_owned() + &"ä".repeat(500))));
        let cut = long.iter().filter(|fault| fault.text() == "two job types have one kind");
        assert_eq!(cut.count(), 1);
        assert!(long.iter().all(|fault| fault.text().starts_with("two job types have ")));
    }
}
