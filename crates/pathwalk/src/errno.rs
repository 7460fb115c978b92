//! The error numbers that operations return.
//!
//! An [`Errno`] is two bytes, so that `Result<(), Errno>` travels in a register: the hot path
//! returns a bare number and no text. It does not say which operation failed on which object. The
//! slow paths that can fail in other ways have errors of their own.

mod kind;
mod table;

use std::num::NonZeroU16;

/// An error number with Linux's value and name.
///
/// Converts into [`std::io::Error`], on Linux with the same raw value, and into its
/// [kind](Self::kind); and from both. The values are Linux's on every system. Source: `errno(3)`.
///
/// ```
/// use std::io::ErrorKind;
/// use pathwalk::Errno;
/// assert_eq!(Errno::ENOENT.kind(), ErrorKind::NotFound);
/// assert_eq!(std::io::Error::from(Errno::ENOENT).raw_os_error(), Some(2));
/// assert_eq!(Errno::ENOENT.name(), Some("ENOENT"));
/// println!("{}", Errno::ENOENT);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(NonZeroU16);

impl Errno {
    /// Returns the error with this raw value; `EIO` for values outside 1..=4095, which no system
    /// call returns.
    ///
    /// ```
    /// use pathwalk::Errno;
    /// assert_eq!(Errno::from_raw(2), Errno::ENOENT);
    /// assert_eq!(Errno::ENOENT.raw(), 2);
    /// // Three numbers have two names.
    /// assert_eq!(Errno::EWOULDBLOCK, Errno::EAGAIN);
    /// assert_eq!(Errno::EDEADLOCK, Errno::EDEADLK);
    /// assert_eq!(Errno::ENOTSUP, Errno::EOPNOTSUPP);
    /// ```
    pub const fn from_raw(raw: i32) -> Errno {
        if raw > 0
            && raw < 4096
            && let Some(value) = NonZeroU16::new(raw as u16)
        {
            Errno(value)
        } else {
            Errno::EIO
        }
    }

    /// Returns the raw value, 1..=4095.
    ///
    /// [`from_raw`](Self::from_raw) has an example.
    pub const fn raw(self) -> i32 {
        self.0.get() as i32
    }
}

impl std::fmt::Debug for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.text()),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_register() {
        assert_eq!(size_of::<Result<(), Errno>>(), 2);
    }

    #[test]
    fn raw_values_survive_and_nonsense_is_eio() {
        assert_eq!(Errno::from_raw(40), Errno::ELOOP);
        assert_eq!(Errno::from_raw(0), Errno::EIO);
        assert_eq!(Errno::from_raw(-2), Errno::EIO);
        assert_eq!(Errno::from_raw(i32::MAX), Errno::EIO);
        assert_eq!(std::io::Error::from(Errno::ENOENT).kind(), std::io::ErrorKind::NotFound);
        assert_eq!(format!("{} {:?}", Errno::ENOENT, Errno::from_raw(200)), "ENOENT (No such file or directory) Errno(200)");
    }

    /// Every number has a name, but for two that Linux left out.
    #[test]
    fn names_and_texts_are_told() {
        for raw in 1..=133 {
            let (errno, text) = (Errno::from_raw(raw), Errno::from_raw(raw).to_string());
            assert_eq!(errno.name().is_none(), [41, 58].contains(&raw), "{raw}");
            assert_eq!(text.starts_with('E') && text.ends_with(')'), errno.name().is_some(), "{text}");
        }
        assert!(Errno::NAMED.is_sorted() && Errno::NAMED.len() == 131);
        assert_eq!((Errno::from_raw(134).name(), Errno::from_raw(41).to_string()), (None, "errno 41".into()));
        assert_eq!(Errno::from_raw(122).to_string(), "EDQUOT (Disk quota exceeded)");
        assert_eq!([Errno::EWOULDBLOCK, Errno::EDEADLOCK, Errno::ENOTSUP], [11, 35, 95].map(Errno::from_raw));
    }
}
