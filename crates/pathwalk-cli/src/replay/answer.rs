//! The answers of a side, and their comparison.
//!
//! All attributes count except the time of last access, which looking may change. The time of
//! creation counts where both sides report it.

use pathwalk::{Attributes, Errno, Timestamp};
use rustix::fs::{Statx, StatxFlags, StatxTimestamp};

/// The answer to a lookup.
pub(crate) type Answer = Result<Found, Errno>;

/// The content of an answer that is not an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// No content: the access is allowed.
    Allowed,
    /// The attributes.
    Attributes(Box<Facts>),
    /// The body of a link.
    Body(Box<[u8]>),
}

/// The names of [`Facts`], in order.
const NAMES: [&str; 18] = [
    "mode",
    "links",
    "uid",
    "gid",
    "inode",
    "size",
    "blocks",
    "block size",
    "device major",
    "device minor",
    "node major",
    "node minor",
    "mtime",
    "mtime ns",
    "ctime",
    "ctime ns",
    "btime",
    "btime ns",
];
/// The index of the first value that not every file system reports.
const BTIME: usize = 16;

/// The attributes that both sides must agree on, as numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    values: [u64; NAMES.len()],
    has_btime: bool,
}

impl From<&Attributes> for Facts {
    fn from(of: &Attributes) -> Facts {
        let (device, node) = (of.device, of.device_node);
        let [mtime, ctime, btime] = [of.mtime, of.ctime, of.btime.unwrap_or_default()]
            .map(|Timestamp { seconds, nanoseconds }| [seconds as u64, u64::from(nanoseconds)]);
        let small = [of.st_mode(), of.nlink, of.uid, of.gid].map(u64::from);
        let devices = [of.block_size, device.major, device.minor, node.major, node.minor].map(u64::from);
        Facts::new(small, [of.ino, of.size, of.blocks], devices, [mtime, ctime, btime], of.btime.is_some())
    }
}

impl From<&Statx> for Facts {
    fn from(of: &Statx) -> Facts {
        let times = [&of.stx_mtime, &of.stx_ctime, &of.stx_btime];
        let times = times.map(|StatxTimestamp { tv_sec, tv_nsec, .. }| [*tv_sec as u64, u64::from(*tv_nsec)]);
        let small = [u32::from(of.stx_mode), of.stx_nlink, of.stx_uid, of.stx_gid].map(u64::from);
        let devices = [of.stx_blksize, of.stx_dev_major, of.stx_dev_minor, of.stx_rdev_major, of.stx_rdev_minor].map(u64::from);
        let has_btime = of.stx_mask & StatxFlags::BTIME.bits() != 0;
        Facts::new(small, [of.stx_ino, of.stx_size, of.stx_blocks], devices, times, has_btime)
    }
}

impl Facts {
    fn new(small: [u64; 4], large: [u64; 3], devices: [u64; 5], times: [[u64; 2]; 3], has_btime: bool) -> Facts {
        let mut all = small.into_iter().chain(large).chain(devices).chain(times.into_iter().flatten());
        Facts { values: std::array::from_fn(|_| all.next().unwrap_or_default()), has_btime }
    }

    /// Returns the indexes of the values that differ.
    fn differing<'a>(&'a self, other: &'a Facts) -> impl Iterator<Item = usize> + use<'a> {
        let counts = |at: &usize| *at < BTIME || (self.has_btime && other.has_btime);
        (0..NAMES.len()).filter(move |at| counts(at) && self.values[*at] != other.values[*at])
    }

    fn value(&self, at: usize) -> String {
        let value = self.values[at];
        if at == 0 { format!("{} {value:o}", NAMES[at]) } else { format!("{} {}", NAMES[at], value as i64) }
    }
}

/// Returns whether both answers are the same.
pub(crate) fn same(one: &Answer, other: &Answer) -> bool {
    match (one, other) {
        (Ok(Found::Attributes(one)), Ok(Found::Attributes(other))) => one.differing(other).next().is_none(),
        _ => one == other,
    }
}

/// Returns an answer in a word. For attributes, adds those that differ from `against`.
pub(crate) fn word(answer: &Answer, against: &Answer) -> String {
    match (answer, against) {
        (Ok(Found::Attributes(facts)), Ok(Found::Attributes(other))) => {
            let differing: Vec<_> = facts.differing(other).map(|at| facts.value(at)).collect();
            if differing.is_empty() { "ok".into() } else { format!("ok, {}", differing.join(", ")) }
        }
        (Ok(Found::Body(body)), _) => format!("\"{}\"", body.escape_ascii()),
        (Ok(_), _) => "ok".into(),
        (Err(errno), _) => errno.name().map_or_else(|| format!("errno {}", errno.raw()), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::FileType;

    use super::*;

    fn attributes(change: impl FnOnce(&mut Attributes)) -> Answer {
        let mut attributes = Attributes::new(FileType::Regular, 0o644);
        change(&mut attributes);
        Ok(Found::Attributes(Box::new(Facts::from(&attributes))))
    }

    #[test]
    fn every_attribute_counts_but_the_time_of_access() {
        let plain = attributes(|_| ());
        let moment = Timestamp { seconds: -1, nanoseconds: 5 };
        assert!(same(&plain, &attributes(|attributes| attributes.atime = moment)));
        assert!(same(&plain, &attributes(|attributes| attributes.btime = Some(moment))), "only one side tells it");
        type Change = (fn(&mut Attributes), &'static str);
        let changes: [Change; 13] = [
            (|it| it.mode = 0o600, "ok, mode 100600"),
            (|it| it.kind = FileType::Fifo, "ok, mode 10644"),
            (|it| it.nlink = 2, "ok, links 2"),
            (|it| it.uid = 7, "ok, uid 7"),
            (|it| it.gid = 7, "ok, gid 7"),
            (|it| it.ino = u64::MAX, "ok, inode -1"),
            (|it| it.size = 3, "ok, size 3"),
            (|it| it.blocks = 8, "ok, blocks 8"),
            (|it| it.block_size = 1, "ok, block size 1"),
            (|it| it.device.minor = 9, "ok, device minor 9"),
            (|it| it.device_node.major = 9, "ok, node major 9"),
            (|it| it.mtime.seconds = -2, "ok, mtime -2"),
            (|it| (it.ctime.nanoseconds, it.size) = (4, 1), "ok, size 1, ctime ns 4"),
        ];
        for (change, says) in changes {
            let changed = attributes(change);
            assert!(!same(&plain, &changed), "{says}");
            assert_eq!(word(&changed, &plain), says);
        }
        let created = |seconds| attributes(move |it| it.btime = Some(Timestamp { seconds, nanoseconds: 0 }));
        assert!(same(&created(1), &created(1)) && !same(&created(1), &created(2)));
    }

    #[test]
    fn the_kernels_attributes_are_the_same_numbers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stat = rustix::fs::statx(
            rustix::fs::CWD,
            file.path(),
            rustix::fs::AtFlags::empty(),
            StatxFlags::BASIC_STATS | StatxFlags::BTIME,
        );
        let facts = Facts::from(&stat.unwrap());
        let metadata = file.path().metadata().unwrap();
        use std::os::unix::fs::MetadataExt;
        let at = |name| facts.values[NAMES.iter().position(|known| *known == name).unwrap()];
        assert_eq!((at("inode"), at("mode")), (metadata.ino(), u64::from(metadata.mode())));
        assert_eq!((at("mtime") as i64, at("ctime ns") as i64), (metadata.mtime(), metadata.ctime_nsec()));
    }

    #[test]
    fn other_answers_are_compared_as_they_are() {
        let body = |text: &[u8]| Ok(Found::Body(text.into()));
        assert!(same(&body(b"a"), &body(b"a")) && !same(&body(b"a"), &body(b"b")));
        assert!(!same(&Ok(Found::Allowed), &Err(Errno::ENOENT)));
        assert_eq!(word(&body(b"\xff"), &Ok(Found::Allowed)), "\"\\xff\"");
        assert_eq!(word(&Err(Errno::ELOOP), &Ok(Found::Allowed)), "ELOOP");
        assert_eq!(word(&Err(Errno::from_raw(200)), &Ok(Found::Allowed)), "errno 200");
    }
}
