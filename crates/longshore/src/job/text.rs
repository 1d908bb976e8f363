//! Makes any text a handler may produce fit to be stored.

/// The most bytes kept of one error message, and of one output.
pub const MAX_ERROR_BYTES: usize = 8 * 1024;
/// The most causes kept of one error.
const MAX_CHAIN: usize = 16;
/// What ends a text that was cut.
const CUT: &str = " …(cut)";

/// Replaces what a database cannot hold (NUL) and cuts at `limit` bytes, on a character's border.
pub fn fit(text: &str, limit: usize) -> String {
    let mut text = text.replace('\0', "\u{fffd}");
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(CUT.len())));
        text.push_str(CUT);
    }
    text
}

/// An error and its causes, each fitted; all together not much above [`MAX_ERROR_BYTES`].
pub fn fit_chain(message: &str, causes: impl IntoIterator<Item = String>) -> (String, Vec<String>) {
    let message = fit(message, MAX_ERROR_BYTES);
    let mut left = MAX_ERROR_BYTES - message.len();
    let mut chain = Vec::new();
    for cause in causes.into_iter().take(MAX_CHAIN) {
        if left < 64 {
            break;
        }
        let cause = fit(&cause, left);
        left -= cause.len();
        chain.push(cause);
    }
    (message, chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_goes_and_long_texts_are_cut_between_characters() {
        assert_eq!(fit("a\0b", 100), "a\u{fffd}b");
        let long = fit(&"ä".repeat(10_000), 1_001);
        assert!(long.len() <= 1_001 && long.ends_with("…(cut)"), "{}", long.len());
    }

    #[test]
    fn a_chain_is_bounded_as_a_whole() {
        let endless = std::iter::repeat_with(|| "x".repeat(5_000)).take(1_000);
        let (message, chain) = fit_chain(&"m".repeat(100_000), endless);
        let total = message.len() + chain.iter().map(String::len).sum::<usize>();
        assert!(total <= MAX_ERROR_BYTES, "{total}");
    }
}
