//! Lines out of bytes, none of them too long.

/// Gathers bytes until a line ends.
#[derive(Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// What is left of a line that was too long is not looked at.
    skips: bool,
}

/// A line, or its beginning if it was too long.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    Cut(Vec<u8>),
}

impl Lines {
    /// Hands on each line that ends in `bytes`, without its end, and each that gets longer than `most`.
    pub fn add(&mut self, mut bytes: &[u8], most: usize, mut tell: impl FnMut(Line)) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let (part, rest) = match end {
                Some(end) => (&bytes[..end], &bytes[end + 1..]),
                None => (bytes, &[][..]),
            };
            bytes = rest;
            if !self.skips {
                let room = most.saturating_sub(self.begun.len());
                self.begun.extend_from_slice(&part[..part.len().min(room)]);
                if part.len() > room {
                    tell(Line::Cut(std::mem::take(&mut self.begun)));
                    self.skips = true;
                }
            }
            if end.is_some() {
                if !self.skips {
                    tell(Line::Whole(std::mem::take(&mut self.begun)));
                }
                self.skips = false;
            }
        }
    }

    /// What has no end, if anything.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.begun);
        (!rest.is_empty() && !self.skips).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str]) -> (Vec<Line>, Option<Vec<u8>>) {
        let (mut lines, mut all) = (Lines::default(), Vec::new());
        pieces.iter().for_each(|piece| lines.add(piece.as_bytes(), 4, |line| all.push(line)));
        (all, lines.rest())
    }

    #[test]
    fn lines_are_told_however_they_come() {
        let (whole, cut) = (|t: &str| Line::Whole(t.into()), |t: &str| Line::Cut(t.into()));
        assert_eq!(lines(&["a\n", "b", "c\n\nd"]).0, [whole("a"), whole("bc"), whole("")]);
        assert_eq!(lines(&["a\nd"]).1, Some(b"d".to_vec()));
        assert_eq!(lines(&["1234\n12345\nx\n"]).0, [whole("1234"), cut("1234"), whole("x")]);
        assert_eq!(lines(&["123", "45", "6789", "\ny\n"]), (vec![cut("1234"), whole("y")], None));
        assert_eq!(lines(&["12345", "67"]), (vec![cut("1234")], None));
    }
}
