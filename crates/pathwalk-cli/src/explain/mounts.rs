//! The mounts of this process, as `/proc/self/mountinfo` tells them: what is mounted, and how.
//!
//! It is for telling: what a mount forbids is asked of the node itself. Source: `proc_pid_mountinfo(5)`.

use pathwalk::MountFlags;

/// What is known of a mount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    /// What it forbids.
    pub(crate) flags: MountFlags,
    /// `None` where there is no `/proc`.
    pub(crate) line: Option<Line>,
}

/// What its line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    id: u64,
    /// Where it is mounted, as this process sees it.
    pub(crate) point: Vec<u8>,
    /// Such as `ext4`.
    pub(crate) kind: Vec<u8>,
    /// Such as `/dev/sda1`.
    pub(crate) source: Vec<u8>,
    /// Who may write to the file system, whatever the mount says.
    pub(crate) writing: Writing,
}

/// Whether a file system as a whole may be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writing {
    Allowed,
    ReadOnly,
}

impl Mount {
    /// Whether the whole file system, and not only this mount of it, is read-only.
    pub(crate) fn is_read_only_file_system(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.writing == Writing::ReadOnly)
    }

    /// Whether it is of one of these kinds; `fuse` stands for all of FUSE's.
    pub(crate) fn is_a(&self, kinds: &[&str]) -> bool {
        let is = |line: &Line| {
            let kind = line.kind.split(|byte| *byte == b'.').next().unwrap_or_default();
            kinds.iter().any(|name| name.as_bytes() == kind)
        };
        self.line.as_ref().is_some_and(is)
    }

    /// The switches that matter to a walk, as `mount(8)` calls them.
    pub(crate) fn switches(&self) -> Vec<&'static str> {
        let names = [(MountFlags::READ_ONLY, "ro"), (MountFlags::NOEXEC, "noexec"), (MountFlags::NOSYMFOLLOW, "nosymfollow")];
        names.iter().filter(|(flag, _)| self.flags.contains(*flag)).map(|(_, name)| *name).collect()
    }
}

/// All mounts of this process.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mounts(Vec<Line>);

impl Mounts {
    /// As they are now; none where there is no `/proc`.
    pub(crate) fn now() -> Mounts {
        Mounts::parse(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// From the text of that file; lines that are none are passed over.
    pub(crate) fn parse(text: &[u8]) -> Mounts {
        Mounts(text.split(|byte| *byte == b'\n').filter_map(parse_line).collect())
    }

    /// What the line of this mount says.
    pub(crate) fn line(&self, id: u64) -> Option<Line> {
        self.0.iter().find(|line| line.id == id).cloned()
    }
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &[u8]) -> Option<Line> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let id = std::str::from_utf8(fields[0]).ok()?.parse().ok()?;
    let dash = fields.iter().position(|field| *field == b"-")?;
    let [kind, source, options, ..] = fields[dash + 1..] else { return None };
    let read_only = options.split(|byte| *byte == b',').any(|option| option == b"ro");
    Some(Line {
        id,
        point: unescaped(fields.get(4)?),
        kind: unescaped(kind),
        source: unescaped(source),
        writing: if read_only { Writing::ReadOnly } else { Writing::Allowed },
    })
}

/// Blanks, line ends and backslashes stand there as `\040` and the like.
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
            37 35 0:3 / / ro - fuse.sshfs host:\\134x ro\nnonsense\n38 1 0:1 / /x rw -\n";
        let mounts = Mounts::parse(text);
        assert_eq!(mounts.0.len(), 2);
        let line = mounts.line(36).unwrap();
        assert_eq!((&*line.point, &*line.kind, &*line.source), (&b"/a b"[..], &b"ext3"[..], &b"/dev/root"[..]));
        assert_eq!(line.writing, Writing::Allowed);
        let line = mounts.line(37).unwrap();
        assert_eq!((&*line.source, line.writing), (&b"host:\\x"[..], Writing::ReadOnly));
        let mount = Mount { id: 37, flags: MountFlags::all(), line: Some(line) };
        assert!(mount.is_a(&["nfs", "fuse"]) && !mount.is_a(&["sshfs"]) && mount.is_read_only_file_system());
        assert_eq!(mount.switches(), ["ro", "noexec", "nosymfollow"]);
    }

    #[test]
    fn this_process_has_mounts_or_no_proc() {
        let mounts = Mounts::now();
        assert!(mounts.0.iter().any(|line| line.point == b"/") || !std::path::Path::new("/proc/self/mountinfo").exists());
    }
}
