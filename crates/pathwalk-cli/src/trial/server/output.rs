//! The output of a command, of which a beginning and an end are kept.
//!
//! What always holds: at most as many bytes are in memory as are kept. What is kept is cut between
//! characters.

use std::collections::VecDeque;

use super::message::Output;

/// Output as it comes.
pub(super) struct Kept {
    most: usize,
    begin: Vec<u8>,
    end: VecDeque<u8>,
    left_out: u64,
}

impl Kept {
    /// Keeps so many bytes: half of them of the beginning, half of the end.
    pub(super) fn new(most: usize) -> Kept {
        Kept { most, begin: Vec::new(), end: VecDeque::new(), left_out: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = (self.most - self.most / 2).saturating_sub(self.begin.len());
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.begin.extend_from_slice(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(self.most / 2);
        self.end.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns it as text.
    pub(super) fn text(mut self) -> Output {
        let end = self.end.make_contiguous();
        if self.left_out == 0 {
            self.begin.extend_from_slice(end);
            let (text, replaced) = lossy(&self.begin);
            return Output { text, replaced, ..Output::default() };
        }
        let begun = whole(&self.begin);
        let (cut, cut_at) = (self.begin.len() - begun, end.iter().take_while(|byte| is_inner(**byte)).count().min(3));
        let (text, one) = lossy(&self.begin[..begun]);
        let (end, other) = lossy(&end[cut_at..]);
        Output { text, left_out: self.left_out + (cut + cut_at) as u64, end, replaced: one || other }
    }
}

/// Returns text, and whether bytes were replaced.
pub(super) fn lossy(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    let replaced = matches!(text, std::borrow::Cow::Owned(_));
    (text.into_owned(), replaced)
}

/// Returns the length without a character at the end of which bytes are missing.
pub(super) fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(4)..]) {
        // At the beginning of these four there may be the end of a character.
        _ if bytes.is_empty() => 0,
        Ok(_) => bytes.len(),
        Err(_) => {
            let starts = bytes.iter().rposition(|byte| !is_inner(*byte)).filter(|at| bytes.len() - at < 4);
            starts.filter(|at| is_begun(&bytes[*at..])).unwrap_or(bytes.len())
        }
    }
}

/// Returns whether these are the first bytes of a character, and more are to come.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn is_inner(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, parts: &[&[u8]]) -> Output {
        let mut kept = Kept::new(most);
        parts.iter().for_each(|part| kept.add(part));
        kept.text()
    }

    #[test]
    fn a_beginning_and_an_end_are_kept() {
        assert_eq!(kept(8, &[b"abcd", b"efgh"]), Output { text: "abcdefgh".into(), ..Output::default() });
        let cut = kept(8, &[b"abcd", b"efgh", b"ijkl"]);
        assert_eq!(cut, Output { text: "abcd".into(), left_out: 4, end: "ijkl".into(), replaced: false });
        assert_eq!(kept(8, &[&[b'x'; 1000]]).left_out, 992);
        assert_eq!(kept(0, &[b"abc"]), Output { left_out: 3, ..Output::default() });
        assert_eq!(kept(1, &[b"abc"]), Output { text: "a".into(), left_out: 2, ..Output::default() });
    }

    #[test]
    fn it_is_cut_between_characters() {
        // Of three bytes each.
        let text = "äöü€€€€".as_bytes();
        let cut = kept(10, &[text]);
        assert_eq!((&*cut.text, &*cut.end, cut.replaced), ("äö", "€", false));
        assert_eq!(cut.left_out, text.len() as u64 - 7);
        assert!(kept(10, &[b"a\xff"]).replaced);
        for (bytes, length) in
            [(&b"a"[..], 1), ("€".as_bytes(), 3), (b"a\xe2\x82", 1), (b"a\xff", 2), (b"", 0), (b"\x80\x80\x80\x80", 4)]
        {
            assert_eq!(whole(bytes), length, "{bytes:?}");
        }
        assert_eq!(whole("xä€".as_bytes()), 6, "four bytes before the end there is no beginning");
    }
}
