//! The mounts of this thread's namespace, as `/proc/thread-self/mountinfo` lists them.
//!
//! Source: `proc_pid_mountinfo(5)`. What it does not do: look at nodes, or remember anything.

use pathwalk::Device;

/// The line of one mount.
///
/// [`parse`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The mount id, as `statx(2)` reports it.
    pub id: u64,
    /// The id of the mount that this mount is attached to.
    pub parent: u64,
    /// The device of the file system, as `stat(2)` reports it for most of them.
    pub device: Device,
    /// The directory of the file system that is the mount's root, as a path in it.
    pub root: Vec<u8>,
    /// The mount point, as this process sees it.
    pub point: Vec<u8>,
    /// The type of the mounted file system, such as `ext4`.
    pub kind: Vec<u8>,
    /// The source of the file system, such as `/dev/sda1`.
    pub source: Vec<u8>,
    /// The writability of the file system, whatever the mount's own flags are.
    pub writing: Writing,
}

/// The writability of a file system as a whole.
///
/// [`parse`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writing {
    /// The file system may be written to where a mount does not forbid it.
    Allowed,
    /// The file system cannot be changed.
    ReadOnly,
}

/// Returns the mounts of this thread's namespace below its root, as they are now. Returns none
/// where there is no `/proc`.
///
/// [`parse`] has an example.
pub fn now() -> Vec<Line> {
    parse(&std::fs::read("/proc/thread-self/mountinfo").unwrap_or_default())
}

/// Parses the text of that file. Skips lines that are not valid.
///
/// ```
/// use pathwalk_hostfs::mountinfo::{self, Writing};
/// let text = b"36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root ro,errors=continue\n";
/// let lines = mountinfo::parse(text);
/// assert_eq!((lines[0].id, &*lines[0].point, &*lines[0].kind), (36, &b"/mnt"[..], &b"ext3"[..]));
/// assert_eq!(lines[0].writing, Writing::ReadOnly, "the file system, whatever the mount says");
/// println!("{} mounts now", mountinfo::now().len());
/// ```
pub fn parse(text: &[u8]) -> Vec<Line> {
    text.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

/// Parses a line such as `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root
/// rw,errors=continue`.
fn parse_line(line: &[u8]) -> Option<Line> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let number = |at: usize| std::str::from_utf8(fields.get(at)?).ok()?.parse().ok();
    let (id, parent) = (number(0)?, number(1)?);
    let (major, minor) = std::str::from_utf8(fields.get(2)?).ok()?.split_once(':')?;
    let device = Device { major: major.parse().ok()?, minor: minor.parse().ok()? };
    let dash = fields.iter().position(|field| *field == b"-")?;
    let [kind, source, options, ..] = fields[dash + 1..] else { return None };
    let read_only = options.split(|byte| *byte == b',').any(|option| option == b"ro");
    Some(Line {
        id,
        parent,
        device,
        root: unescaped(fields.get(3)?),
        point: unescaped(fields.get(4)?),
        kind: unescaped(kind),
        source: unescaped(source),
        writing: if read_only { Writing::ReadOnly } else { Writing::Allowed },
    })
}

/// Returns a field with its escapes resolved. The file contains blanks, line ends and backslashes
/// as `\040` and the like.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match (first, tail.get(..3).and_then(octal)) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_optional_fields() {
        let text = b"36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n\
            37 35 0:3 / / ro - fuse.sshfs host:\\134x ro\nnonsense\n38 1 0:1 / /x rw -\n\
            39 1 x:1 / /x rw - proc proc rw\n";
        let [first, second] = &parse(text)[..] else { panic!("two lines") };
        assert_eq!((&*first.point, &*first.kind, &*first.source), (&b"/a b"[..], &b"ext3"[..], &b"/dev/root"[..]));
        assert_eq!((first.id, first.parent, first.writing), (36, 35, Writing::Allowed));
        assert_eq!((first.device, second.device), (Device { major: 98, minor: 0 }, Device { major: 0, minor: 3 }));
        assert_eq!((&*second.source, second.writing), (&b"host:\\x"[..], Writing::ReadOnly));
    }

    #[test]
    fn this_process_has_mounts_or_no_proc() {
        let is_there = std::path::Path::new("/proc/thread-self/mountinfo").exists();
        assert!(now().iter().any(|line| line.point == b"/") || !is_there);
    }
}
