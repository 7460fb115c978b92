//! The flags as strace prints them: names with bars between them, and numbers for unknown flags.

use bitflags::bitflags;
use pathwalk::Access;

bitflags! {
    /// The flags of `open(2)` that determine the question, and the fate of the descriptor.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct OpenFlags: u16 {
        const READ = 1;
        const WRITE = 1 << 1;
        /// `O_PATH`: neither to read nor to write.
        const PATH = 1 << 2;
        const DIRECTORY = 1 << 3;
        const NOFOLLOW = 1 << 4;
        /// `O_CREAT`, `O_TRUNC` or `O_TMPFILE`: the call changes something.
        const CHANGE = 1 << 5;
        const CLOEXEC = 1 << 6;
    }

    /// The `AT_` flags that matter to a lookup.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct AtFlags: u8 {
        const EFFECTIVE = 1;
        const NOFOLLOW = 1 << 1;
        const EMPTY_PATH = 1 << 2;
    }

    /// The flags of `clone(2)` and `unshare(2)` that matter to lookups.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct CloneFlags: u8 {
        /// `CLONE_FS`: root and working directory are shared.
        const FS = 1;
        /// `CLONE_FILES`: descriptors are shared.
        const FILES = 1 << 1;
        /// `CLONE_NEWNS`: the process gets mounts of its own.
        const NEW_MOUNTS = 1 << 2;
    }
}

/// Returns the words between bars, without a comment that follows them.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    text[..end].split(|byte| *byte == b'|')
}

/// Reads flags of `open(2)`. Returns `None` if there is a number among them, which may stand for
/// any flag.
pub(crate) fn open_flags(text: &[u8]) -> Option<OpenFlags> {
    words(text).try_fold(OpenFlags::empty(), |flags, word| {
        let flag = match word {
            b"O_RDONLY" => OpenFlags::READ,
            b"O_CLOEXEC" => OpenFlags::CLOEXEC,
            b"O_WRONLY" => OpenFlags::WRITE,
            // Such a descriptor allows neither reading nor writing, but the open needs permission
            // for both.
            b"O_RDWR" | b"O_ACCMODE" => OpenFlags::READ | OpenFlags::WRITE,
            b"O_PATH" => OpenFlags::PATH,
            b"O_DIRECTORY" => OpenFlags::DIRECTORY,
            b"O_NOFOLLOW" => OpenFlags::NOFOLLOW,
            b"O_CREAT" | b"O_TRUNC" | b"O_TMPFILE" | b"__O_TMPFILE" => OpenFlags::CHANGE,
            word if word.first().is_some_and(|first| first.is_ascii_uppercase() || *first == b'_') => OpenFlags::empty(),
            _ => return None,
        };
        Some(flags | flag)
    })
}

/// Reads `AT_` flags. Returns `None` if there is a number among them that is not 0.
pub(crate) fn at_flags(text: &[u8]) -> Option<AtFlags> {
    words(text).try_fold(AtFlags::empty(), |flags, word| {
        let flag = match word {
            b"0" => AtFlags::empty(),
            b"AT_EACCESS" => AtFlags::EFFECTIVE,
            b"AT_SYMLINK_NOFOLLOW" => AtFlags::NOFOLLOW,
            b"AT_EMPTY_PATH" => AtFlags::EMPTY_PATH,
            word if word.starts_with(b"AT_") => AtFlags::empty(),
            _ => return None,
        };
        Some(flags | flag)
    })
}

/// Reads the access that `access(2)` asks for. Returns `None` for a mode that the kernel would
/// reject too, and for octal digits that are more than a mode.
pub(crate) fn access_mode(text: &[u8]) -> Option<Access> {
    words(text).try_fold(Access::empty(), |want, word| match word {
        b"F_OK" => Some(want),
        b"R_OK" => Some(want | Access::READ),
        b"W_OK" => Some(want | Access::WRITE),
        b"X_OK" => Some(want | Access::EXECUTE),
        [digit @ b'0'..=b'7'] | [b'0', digit @ b'0'..=b'7'] | [b'0', b'x', digit @ b'0'..=b'7'] => {
            let bit = |bit: u8, access| if (digit - b'0') & bit != 0 { access } else { Access::empty() };
            Some(want | bit(4, Access::READ) | bit(2, Access::WRITE) | bit(1, Access::EXECUTE))
        }
        _ => None,
    })
}

/// Reads flags of `unshare(2)`, or the value of `flags=` among the arguments of a clone.
pub(crate) fn clone_flags(text: &[u8]) -> CloneFlags {
    words(text).fold(CloneFlags::empty(), |flags, word| {
        flags
            | match word {
                b"CLONE_FS" => CloneFlags::FS,
                b"CLONE_FILES" => CloneFlags::FILES,
                b"CLONE_NEWNS" => CloneFlags::NEW_MOUNTS,
                _ => CloneFlags::empty(),
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(open_flags(b"O_RDONLY|O_NOCTTY|O_CLOEXEC"), Some(OpenFlags::READ | OpenFlags::CLOEXEC));
        assert_eq!(open_flags(b"O_RDWR|O_CREAT|O_EXCL"), Some(OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CHANGE));
        assert_eq!(open_flags(b"O_RDONLY|0x1000000 /* O_??? */"), None);
        assert_eq!(open_flags(b"0x80000"), None);
        assert_eq!(at_flags(b"0"), Some(AtFlags::empty()));
        assert_eq!(at_flags(b"AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW"), Some(AtFlags::NOFOLLOW));
        assert_eq!(at_flags(b"0x8 /* AT_??? */"), None);
        assert_eq!(at_flags(b""), None);
        assert_eq!(access_mode(b"F_OK"), Some(Access::empty()));
        assert_eq!(access_mode(b"R_OK|X_OK"), Some(Access::READ | Access::EXECUTE));
        assert_eq!((access_mode(b"6"), access_mode(b"04")), (Some(Access::READ | Access::WRITE), Some(Access::READ)));
        assert_eq!((access_mode(b"R_OK|0x8"), access_mode(b"")), (None, None));
        assert_eq!(clone_flags(b"CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD"), CloneFlags::FS | CloneFlags::FILES);
    }
}
