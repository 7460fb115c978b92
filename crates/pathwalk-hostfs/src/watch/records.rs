//! The records of fanotify, as values.
//!
//! Source: `fanotify(7)`, `struct fanotify_event_metadata` and `struct fanotify_event_info_fid` of
//! `linux/fanotify.h`. What it does not do: read the queue. A record that does not have the form
//! that is expected ends the reading; the kernel makes no such records.

/// The type of a record of a directory and a name. Source: `linux/fanotify.h`, as those below.
const DFID_NAME: u8 = 2;
const DFID: u8 = 3;
const FID: u8 = 1;

/// The bytes of the metadata before the first record.
const METADATA: usize = 24;

/// The bytes of a record before the handle's own: type, length, file system id, size and kind.
const BEFORE_HANDLE: usize = 20;

/// The bits of a handle's kind that are a file system's own.
const KINDS: i32 = 0xffff;

/// A file handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Handle<'a> {
    pub(super) kind: i32,
    pub(super) bytes: &'a [u8],
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) mask: u64,
    /// The directory, and the name in it. `.` stands for the directory itself.
    pub(super) at: Option<(Handle<'a>, &'a [u8])>,
    /// The node.
    pub(super) node: Option<Handle<'a>>,
}

/// Returns the events in what was read.
pub(super) fn records(mut read: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let length = number(read, 0)? as usize;
        let event = read.get(..length).filter(|event| event.len() >= METADATA)?;
        read = &read[length..];
        Some(record(event))
    })
}

fn record(event: &[u8]) -> Record<'_> {
    let mask = u64::from(number(event, 8).unwrap_or(0)) | u64::from(number(event, 12).unwrap_or(0)) << 32;
    let mask = if cfg!(target_endian = "big") { mask.rotate_left(32) } else { mask };
    let mut record = Record { mask, ..Record::default() };
    let mut rest = &event[METADATA..];
    while let [kind, _, low, high, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let Some(info) = rest.get(..length).filter(|info| info.len() >= BEFORE_HANDLE) else { break };
        rest = &rest[length..];
        let Some((handle, behind)) = handle(info) else { break };
        match kind {
            DFID_NAME => record.at = Some((handle, until_nul(behind))),
            DFID => record.at = Some((handle, b".")),
            FID => record.node = Some(handle),
            _ => {}
        }
    }
    record
}

/// Returns the handle in a record, and the bytes behind it.
fn handle(info: &[u8]) -> Option<(Handle<'_>, &[u8])> {
    let (size, kind) = (number(info, 12)? as usize, number(info, 16)? as i32);
    let (bytes, behind) = info.get(BEFORE_HANDLE..)?.split_at_checked(size)?;
    Some((Handle { kind: kind & KINDS, bytes }, behind))
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the bytes of a record with a handle.
    fn info(kind: u8, handle: &[u8], name: &[u8]) -> Vec<u8> {
        let length = (BEFORE_HANDLE + handle.len() + name.len()).next_multiple_of(4);
        let mut bytes = vec![kind, 0];
        bytes.extend((length as u16).to_ne_bytes());
        bytes.extend([9; 8]);
        bytes.extend((handle.len() as u32).to_ne_bytes());
        bytes.extend(0x1_0001_i32.to_ne_bytes());
        bytes.extend(handle);
        bytes.extend(name);
        bytes.resize(length, 0);
        bytes
    }

    fn event(mask: u64, infos: &[Vec<u8>]) -> Vec<u8> {
        let infos = infos.concat();
        let mut bytes = ((METADATA + infos.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend([3, 0, 24, 0]);
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend(77_i32.to_ne_bytes());
        bytes.extend(infos);
        bytes
    }

    #[test]
    fn events_are_read_with_their_records() {
        let both = [info(DFID_NAME, &[1; 8], b"name\0"), info(FID, &[2; 12], b"")];
        let bytes = [event(0x4000, &[]), event(1 << 40 | 0x100, &both), event(4, &[info(DFID, &[3; 8], b"")])].concat();
        let all: Vec<Record<'_>> = records(&bytes).collect();
        let handle = |bytes| Handle { kind: 1, bytes };
        assert_eq!(all[0], Record { mask: 0x4000, at: None, node: None });
        assert_eq!(all[1].mask, 1 << 40 | 0x100);
        assert_eq!((all[1].at, all[1].node), (Some((handle(&[1; 8]), &b"name"[..])), Some(handle(&[2; 12]))));
        assert_eq!(all[2], Record { mask: 4, at: Some((handle(&[3; 8]), b".")), node: None });
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn what_is_cut_off_is_not_read_beyond_its_end() {
        let bytes = event(1, &[info(DFID_NAME, &[1; 8], b"name\0")]);
        for length in 0..bytes.len() {
            assert_eq!(records(&bytes[..length]).count(), 0);
        }
        let mut wrong = bytes.clone();
        wrong[METADATA + 2] = 255;
        assert_eq!(records(&wrong).next(), Some(Record { mask: 1, at: None, node: None }));
        let mut wrong = bytes;
        wrong[METADATA + 12] = 255;
        assert_eq!(records(&wrong).next(), Some(Record { mask: 1, at: None, node: None }));
    }
}
