//! The one rule for names, as `longshore::job::name` has it; a test holds the two together.

use unicode_general_category::{GeneralCategory, get_general_category};

const MAX_NAME_BYTES: usize = 255;

/// What is wrong with a name, in the words of the library.
pub(crate) fn fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(format!("is empty; a name has 1 to {MAX_NAME_BYTES} bytes"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(format!("has {} bytes; a name has 1 to {MAX_NAME_BYTES}", name.len()));
    }
    if let Some((at, found)) = name.char_indices().find(|(_, c)| is_hidden(*c)) {
        let code = found as u32;
        return Some(format!(
            "has the character U+{code:04X} at byte {at}; control, format and unassigned characters are not allowed"
        ));
    }
    if name.trim() != name {
        return Some("starts or ends with white space".to_owned());
    }
    matches!(name, "." | "..").then(|| "is `.` or `..`".to_owned())
}

/// A name as a message shows it: cut if very long, and what cannot be seen in it written out.
pub(crate) fn shown(name: &str) -> String {
    let mut shown = String::new();
    for c in name.chars().take(64) {
        if is_hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

fn is_hidden(c: char) -> bool {
    use GeneralCategory::*;
    matches!(get_general_category(c), Control | Format | Unassigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longshore::job::name::check;

    #[test]
    fn the_rule_is_the_librarys() {
        let odd = ["", " a", "a ", "\u{3000}a", ".", "..", "...", "a/b", "ä/😀", "a\0b"];
        let long = [255, 256].map(|bytes| "x".repeat(bytes));
        for name in odd.map(String::from).into_iter().chain(long) {
            assert_eq!(fault(&name), check(&name).err().map(|fault| fault.to_string()), "{name:?}");
        }
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let name: String = ['a', c, 'b'].into_iter().collect();
            assert_eq!(is_hidden(c), check(&name).is_err(), "{c:?}");
        }
    }
}
