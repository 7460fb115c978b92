//! What overlayfs notes on the nodes of a layer.
//!
//! Source: `Documentation/filesystems/overlayfs.rst`, and the behaviour of Linux 6.18 where that is
//! silent: an upper layer's regular, empty file with the attribute `overlay.whiteout` is absent,
//! whatever its directory is marked as.
//!
//! What it does not do: read `overlay.nlink`, `impure`, `upper` and `uuid`, which say nothing that
//! the names do not show.

use std::borrow::Cow;

use pathwalk::{Device, Errno, FileHandle, FileType, InodeFlags};

use crate::upper::Node;

/// The namespace of attributes in which overlayfs keeps its notes.
///
/// ```
/// use pathwalk_overlay::Form;
/// assert_eq!(Form::Trusted.prefix(), b"trusted.overlay.");
/// println!("this process mounts with {:?}", Form::of_this_process());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `trusted.overlay.*`: for root.
    Trusted,
    /// `user.overlay.*`: in a user namespace, with the mount option `userxattr`.
    User,
}

/// The part of a name that the mount takes out of an attribute in its own namespace.
const ESCAPE: &[u8] = b"overlay.";

impl Form {
    /// Returns how the names of the notes begin.
    pub fn prefix(self) -> &'static [u8] {
        match self {
            Form::Trusted => b"trusted.overlay.",
            Form::User => b"user.overlay.",
        }
    }

    /// Returns the one that this process may mount with.
    pub fn of_this_process() -> Form {
        use std::os::unix::fs::MetadataExt;
        // Source: `PROC_USER_INIT_INO` in `proc_ns.h`.
        const INITIAL: u64 = 0xefff_fffd;
        let is_initial = std::fs::metadata("/proc/self/ns/user").is_ok_and(|of| of.ino() == INITIAL);
        if is_initial && rustix::process::geteuid().is_root() { Form::Trusted } else { Form::User }
    }

    /// Returns the name by which the mount shows an attribute; `None` if it shows none.
    pub(crate) fn shown(self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let Some(note) = name.strip_prefix(self.prefix()) else { return Some(name.into()) };
        let rest = note.strip_prefix(ESCAPE)?;
        Some([self.prefix(), rest].concat().into())
    }
}

/// What a directory of a layer covers of the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Covers {
    /// The directory at the same place.
    Same,
    /// Another one: a path from the root, or a name in the directory that is covered by the one
    /// above.
    Redirected(Vec<u8>),
    /// None.
    Nothing,
}

/// The node of the base of which a node of a layer is a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Copied {
    No,
    /// A copy of a node that is not told.
    Of,
    From(FileHandle),
}

/// What overlayfs notes on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Notes {
    pub(crate) is_whiteout: bool,
    pub(crate) covers: Covers,
    pub(crate) copied: Copied,
    pub(crate) is_metacopy: bool,
    pub(crate) extras: Extras,
}

/// Whether a node has extended attributes, lists and notes among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extras {
    None,
    Some,
}

impl Notes {
    /// Reads the notes on a node.
    pub(crate) fn read(form: Form, node: &Node) -> Result<Notes, Errno> {
        let of = node.attributes();
        let is_device = of.kind == FileType::CharDevice && of.device_node == Device { major: 0, minor: 0 };
        let (covers, copied, extras) = (Covers::Same, Copied::No, Extras::None);
        let mut notes = Notes { is_whiteout: is_device, covers, copied, is_metacopy: false, extras };
        if is_device {
            return Ok(notes);
        }
        let (mut is_opaque, mut redirect) = (false, None);
        for name in node.xattr_names()? {
            notes.extras = Extras::Some;
            let Some(note) = name.strip_prefix(form.prefix()) else { continue };
            let value = || node.xattr(&name);
            match (of.kind, note) {
                (FileType::Regular, b"whiteout") => notes.is_whiteout |= of.size == 0,
                (FileType::Regular, b"metacopy") => notes.is_metacopy = true,
                // The other value says that there are whiteouts in it which are attributes.
                (FileType::Directory, b"opaque") => is_opaque = value()? == b"y",
                (FileType::Directory, b"redirect") => redirect = Some(value()?),
                (_, b"origin") => notes.copied = origin(&value()?).map_or(Copied::Of, Copied::From),
                _ => {}
            }
        }
        notes.covers = match redirect {
            _ if is_opaque => Covers::Nothing,
            Some(to) => Covers::Redirected(to),
            None => Covers::Same,
        };
        Ok(notes)
    }
}

/// The bytes of an origin before the handle: version, magic number, length, flags, kind, and the
/// UUID of the file system. Source: `struct ovl_fh`.
const BEFORE_HANDLE: usize = 21;

/// Returns the handle in an origin, if it is one of a lower layer.
fn origin(value: &[u8]) -> Option<FileHandle> {
    const MAGIC: u8 = 0xfb;
    const OF_UPPER: u8 = 4;
    let (head, handle) = value.split_at_checked(BEFORE_HANDLE)?;
    let is_whole = head[0] == 0 && head[1] == MAGIC && usize::from(head[2]) == value.len() && head[3] & OF_UPPER == 0;
    if is_whole { FileHandle::new(head[4].into(), handle).ok() } else { None }
}

/// Returns the handle of which the name of an entry of the index is made.
pub(crate) fn origin_of_index(name: &[u8]) -> Option<FileHandle> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| Some(digit(&pair[0])? << 4 | digit(pair.get(1)?)?);
    origin(&name.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?)
}

/// Returns the flags of a node that the mount shows, of those that it copies and keeps as a note.
pub(crate) fn noted_flags(form: Form, node: &Node) -> Result<InodeFlags, Errno> {
    let name = [form.prefix(), b"protattr"].concat();
    let letters = match node.xattr(&name) {
        Err(Errno::ENODATA | Errno::EOPNOTSUPP) => return Ok(InodeFlags::empty()),
        letters => letters?,
    };
    let flag = |letter: &u8| match letter {
        b'a' => InodeFlags::APPEND,
        b'i' => InodeFlags::IMMUTABLE,
        _ => InodeFlags::empty(),
    };
    Ok(letters.iter().take_while(|letter| **letter != b',').map(flag).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_by_the_mount() {
        let shown = |name: &'static [u8]| Form::Trusted.shown(name).map(Cow::into_owned);
        assert_eq!(shown(b"trusted.overlay.opaque"), None);
        assert_eq!(shown(b"trusted.overlay.overlay.opaque"), Some(b"trusted.overlay.opaque".to_vec()));
        assert_eq!(shown(b"user.overlay.opaque"), Some(b"user.overlay.opaque".to_vec()));
        assert_eq!(shown(b"trusted.overlayer"), Some(b"trusted.overlayer".to_vec()));
    }

    #[test]
    fn an_origin_has_the_handle_of_the_base() {
        let name = b"00fb1d00010000000000000000000000000000000000e30e001b4909ce";
        let found = origin_of_index(name).expect("it is one");
        assert_eq!((found.kind(), found.bytes()), (1, &[0, 0xe3, 0x0e, 0, 0x1b, 0x49, 0x09, 0xce][..]));
        for fault in [&name[..57], &name[..40], b"#12", b"", b"00fb1d04010000000000000000000000000000000000e30e001b4909ce"] {
            assert_eq!(origin_of_index(fault), None, "{}", fault.escape_ascii());
        }
    }
}
