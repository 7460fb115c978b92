//! Bytes as the standard library's text of the system, and back.
//!
//! A path of this library is bytes on every system. On Unix and WASI an [`OsStr`] is bytes, too:
//! the conversions are exact both ways and cost nothing. Elsewhere, as on Windows, an [`OsStr`] is
//! text, or what is left of text: its bytes are taken as they are encoded, which is UTF-8 for all
//! that is Unicode, and bytes that are not UTF-8 become none.
//!
//! What it does not do: it knows no separators.

use std::ffi::{OsStr, OsString};

pub(crate) use imp::{bytes_of, from_bytes, from_bytes_lossy};

#[cfg(any(unix, target_os = "wasi"))]
mod imp {
    #[cfg(unix)]
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    #[cfg(target_os = "wasi")]
    use std::os::wasi::ffi::{OsStrExt, OsStringExt};

    use super::{OsStr, OsString};
    use crate::Errno;

    /// Returns the bytes.
    #[inline(always)]
    pub(crate) fn bytes_of(text: &OsStr) -> &[u8] {
        text.as_bytes()
    }

    /// Returns text with these bytes. It never fails here.
    #[inline(always)]
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<OsString, Errno> {
        Ok(from_bytes_lossy(bytes))
    }

    /// Returns text with these bytes. Nothing is lost here.
    #[inline(always)]
    pub(crate) fn from_bytes_lossy(bytes: Vec<u8>) -> OsString {
        OsString::from_vec(bytes)
    }
}

#[cfg(not(any(unix, target_os = "wasi")))]
mod imp {
    use super::{OsStr, OsString};
    use crate::Errno;

    /// Returns the bytes as they are encoded: UTF-8, and for what is not Unicode no byte sequence
    /// that UTF-8 has.
    #[inline(always)]
    pub(crate) fn bytes_of(text: &OsStr) -> &[u8] {
        text.as_encoded_bytes()
    }

    /// Returns text with these bytes: `EILSEQ` if they are not UTF-8.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<OsString, Errno> {
        String::from_utf8(bytes).map(OsString::from).map_err(|_| Errno::EILSEQ)
    }

    /// Returns text with these bytes, with U+FFFD in place of those that are not UTF-8.
    pub(crate) fn from_bytes_lossy(bytes: Vec<u8>) -> OsString {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Errno;

    #[test]
    fn unicode_goes_there_and_back() {
        for text in ["", "a", "é", "/dir/𝄞", r"C:\not\split"] {
            for os in [from_bytes(text.into()), Ok(from_bytes_lossy(text.into()))] {
                assert_eq!(os.as_deref().map(bytes_of), Ok(text.as_bytes()));
                assert_eq!(os.unwrap().to_str(), Some(text));
            }
        }
    }

    #[test]
    fn other_bytes_go_there_and_back_or_are_refused() {
        let bytes = b"a\xffb";
        let (exact, lossy) = (from_bytes(bytes.into()), from_bytes_lossy(bytes.into()));
        if cfg!(any(unix, target_os = "wasi")) {
            assert_eq!((exact.as_deref().map(bytes_of), bytes_of(&lossy)), (Ok(&bytes[..]), &bytes[..]));
        } else {
            assert_eq!((exact, lossy.to_str()), (Err(Errno::EILSEQ), Some("a\u{fffd}b")));
        }
    }

    /// Half of a pair of UTF-16 has bytes, which are no UTF-8.
    #[cfg(windows)]
    #[test]
    fn names_that_are_not_unicode_have_bytes_of_their_own() {
        let half = |unit| <OsString as std::os::windows::ffi::OsStringExt>::from_wide(&[0x61, unit]);
        let (first, second) = (half(0xd800), half(0xd801));
        assert!(str::from_utf8(bytes_of(&first)).is_err() && bytes_of(&first) != bytes_of(&second));
        assert_eq!(from_bytes(bytes_of(&first).into()), Err(Errno::EILSEQ));
    }
}
