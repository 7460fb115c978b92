//! The record of a node: two cache lines. The field table is in `docs/design.md`.
//!
//! | word | what |
//! |---|---|
//! | 0 | sequence count (32), `st_mode` (16), flags (16) |
//! | 1 | uid (32), gid (32) |
//! | 2 | life (see `memory/pin.rs`) |
//! | 3 | link count (32), alias or chain of the link's body (32) |
//! | 4 | size |
//! | 5–6 | key |
//! | 7 | device (32), length of the link's body (12), attribute bits (10), their mask (10) |
//! | 8 | inode number |
//! | 9 | blocks |
//! | 10–13 | access, change of data, of attributes, birth: seconds (low 34), nanoseconds (30) |
//! | 14 | seconds' upper 16 bits of the four |
//! | 15 | block size (32), device node (32) |
//!
//! All words but `life` change only with the count odd, under the inode's lock. While the slot is
//! free, word 3 holds the link of the free list.
//!
//! *Alias*: for a directory, its one dentry; for other nodes, the dentry if exactly one has the
//! node, or [`MANY`]. A change of mode uses it to find the dentry whose permission bits follow the
//! mode. A node with many dentries has no such bits. The alias of a link is the tag of the chain
//! with its body: see `access.rs`.

use crate::Errno;
use crate::attr::{AclState, Attributes, Device, FileType, StatxFlags, Timestamp};
use crate::node::{NodeKey, PermissionRule};
use crate::sync::{AtomicU64, Ordering};

pub(crate) const WORD: usize = 0;
pub(crate) const OWNER: usize = 1;
pub(super) const LIFE: usize = 2;
pub(crate) const LINKS_AUX: usize = 3;
const SIZE: usize = 4;
const KEY_LOW: usize = 5;
const KEY_HIGH: usize = 6;
pub(crate) const MIXED: usize = 7;
const INO: usize = 8;
const BLOCKS: usize = 9;
const TIMES: usize = 10;
const SECONDS_HIGH: usize = 14;
const BLOCK_SIZE_NODE: usize = 15;

/// The number of words of an inode.
pub(crate) const INODE_WORDS: usize = 16;

/// The words of an inode.
pub(crate) type Record = [AtomicU64; INODE_WORDS];

/// The alias of a node that has more than one dentry.
pub(crate) const MANY: u32 = u32::MAX;

/// The position of `st_mode` in word 0.
const MODE_SHIFT: u32 = 16;

/// The bits of `st_mode` in word 0.
pub(crate) const MODE: u64 = 0xffff << MODE_SHIFT;

/// Flags in word 0; bit 0 is the count's.
pub(crate) mod flags {
    /// The position of `AclState`, which takes two bits.
    pub(crate) const ACL_SHIFT: u32 = 1;
    pub(crate) const ACL: u64 = 3 << ACL_SHIFT;
    /// The file system's own permission check decides about the node.
    pub(crate) const OWN_RULE: u64 = 1 << 3;
    /// With `OWN_RULE`: where the generic rule lets all users search, the file system's own rule
    /// does so too.
    pub(crate) const GENERIC_SEARCH: u64 = 1 << 4;
    /// Of a link, which is never searched: the engine keeps the time of the last access.
    pub(crate) const KEEPS_ACCESS: u64 = GENERIC_SEARCH;
    /// Attributes other than type, mode, owner and ACL are out of date.
    pub(crate) const STALE: u64 = 1 << 5;
    /// The link's body is in a chain, and no time of access is due.
    pub(crate) const BODY: u64 = 1 << 6;
    /// The link's body came with its node and found no room: the name is to be looked up again for
    /// it.
    pub(crate) const BODY_LEFT_OUT: u64 = 1 << 8;
    /// Of a directory: the security hook has promised that all callers may search it. (Directories
    /// have no bodies.)
    pub(crate) const SEARCH_PROMISED: u64 = BODY_LEFT_OUT;
    /// The file system could not say what the attributes are now, mode and owner included: a reader
    /// asks it first.
    pub(crate) const UNKNOWN: u64 = 1 << 9;
    /// The node has a time of birth.
    pub(crate) const BIRTH: u64 = 1 << 7;
    /// The attributes were out of date at least once since the node came into the cache.
    pub(crate) const MARKED: u64 = 1 << 10;

    /// The file system said that there is no capability (`security.capability`) that a write to the
    /// node would remove. See `file_capability.rs`.
    pub(crate) const NO_CAPABILITY: u64 = 1 << 15;

    /// The link's body is in a chain, and a time of access may be due before it is used. The bit is
    /// one of those of an `InodeCache`.
    pub(crate) const BODY_DUE: u64 = 1 << 11;
    /// The link's body is in a chain, if it has one of these.
    pub(crate) const HAS_BODY: u64 = BODY | BODY_DUE;

    // Flags of an `InodeCache`. The engine's inodes are filled before they are hashed, and are
    // unhashed as they die.

    /// The inode is hashed and not filled yet: a thread that finds it waits.
    pub(crate) const NEW: u64 = 1 << 11;
    /// With `NEW`: the inode was hashed by the creator of the node. A thread that finds it is told
    /// that there is none.
    pub(crate) const CREATING: u64 = 1 << 12;
    /// The inode is dead, and stays in the table until its owner was told: a thread that finds it
    /// waits.
    pub(crate) const FREEING: u64 = 1 << 13;
    /// The inode is in no table any more.
    pub(crate) const UNHASHED: u64 = 1 << 14;

    /// The flags that no new attributes change.
    pub(crate) const FOR_LIFE: u64 = OWN_RULE | GENERIC_SEARCH | HAS_BODY | BODY_LEFT_OUT | MARKED | NO_CAPABILITY;
}

// Fields of words, as they were sampled.

#[inline(always)]
pub(crate) fn mode_of(word: u64) -> u16 {
    (word >> MODE_SHIFT) as u16 & 0o7777
}

#[inline(always)]
pub(crate) fn kind_of(word: u64) -> FileType {
    // A slot that was never used has no type. Its value is never used, but the function has to
    // return one.
    FileType::from_mode((word >> MODE_SHIFT) as u32).unwrap_or(FileType::Regular)
}

pub(crate) fn acl_of(word: u64) -> AclState {
    match (word & flags::ACL) >> flags::ACL_SHIFT {
        0 => AclState::Absent,
        1 => AclState::Unknown,
        _ => AclState::Present,
    }
}

/// Returns the uid and the gid.
#[inline(always)]
pub(crate) fn owner_of(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

pub(crate) fn aux_of(word: u64) -> u32 {
    word as u32
}

/// Returns the length of a link's body.
#[inline(always)]
pub(crate) fn body_length(mixed: u64) -> usize {
    (mixed >> 20) as usize & 0xfff
}

pub(crate) fn is_immutable(mixed: u64) -> bool {
    (mixed >> 10) & u64::from(StatxFlags::IMMUTABLE.bits()) != 0
}

pub(crate) fn is_append_only(mixed: u64) -> bool {
    (mixed >> 10) & u64::from(StatxFlags::APPEND.bits()) != 0
}

#[inline(always)]
pub(crate) fn key_of(record: &Record) -> NodeKey {
    let half = |at: usize| u128::from(record[at].load(Ordering::Relaxed));
    NodeKey(half(KEY_HIGH) << 64 | half(KEY_LOW))
}

/// Returns the flags of word 0 of a node, mode included.
pub(crate) fn word_of(attributes: &Attributes, rule: PermissionRule) -> u64 {
    let rule = match rule {
        PermissionRule::Generic => 0,
        PermissionRule::Own => flags::OWN_RULE,
        PermissionRule::OwnButGenericSearch => flags::OWN_RULE | flags::GENERIC_SEARCH,
    };
    let birth = if attributes.btime.is_some() { flags::BIRTH } else { 0 };
    u64::from(attributes.st_mode() as u16) << MODE_SHIFT | (attributes.acl as u64) << flags::ACL_SHIFT | rule | birth
}

pub(crate) fn set_key(record: &Record, key: NodeKey) {
    record[KEY_LOW].store(key.0 as u64, Ordering::Relaxed);
    record[KEY_HIGH].store((key.0 >> 64) as u64, Ordering::Relaxed);
}

/// Returns attributes as the cache keeps them: permission bits, attribute bits, times and devices
/// are brought within their ranges. Whether a node is the root of a mount is the mount's to say.
pub(crate) fn normalised(mut from: Attributes) -> Attributes {
    from.mode &= 0o7777;
    from.flags = StatxFlags::from_bits_truncate(from.flags.bits()) - StatxFlags::MOUNT_ROOT;
    from.flags_mask = StatxFlags::from_bits_truncate(from.flags_mask.bits()) - StatxFlags::MOUNT_ROOT;
    (from.atime, from.mtime, from.ctime) = (from.atime.kept(), from.mtime.kept(), from.ctime.kept());
    from.btime = from.btime.map(Timestamp::kept);
    (from.device, from.device_node) = (from.device.kept(), from.device_node.kept());
    from
}

/// Returns attributes as the cache keeps them, if they are of a node of this type. Fails with
/// `ESTALE` if not: the key belongs to another node by now.
pub(crate) fn of_type(kind: FileType, attributes: Attributes) -> Result<Attributes, Errno> {
    if attributes.kind == kind { Ok(normalised(attributes)) } else { Err(Errno::ESTALE) }
}

/// Stores all fields but word 0, life, key, alias and chain. The count is odd.
pub(crate) fn set_fields(record: &Record, from: &Attributes, body_length: usize) {
    let set = |at: usize, value: u64| record[at].store(value, Ordering::Relaxed);
    set(OWNER, pair(from.uid, from.gid));
    set(SIZE, from.size);
    set(MIXED, u64::from(packed(from.device)) << 32 | (body_length as u64) << 20 | bits_of(from));
    set(INO, from.ino);
    set(BLOCKS, from.blocks);
    let times = [from.atime, from.mtime, from.ctime, from.btime.unwrap_or_default()];
    let mut high = 0;
    for (at, time) in times.iter().enumerate() {
        set(TIMES + at, low_of(*time));
        high |= high_of(*time) << (16 * at);
    }
    set(SECONDS_HIGH, high);
    set(BLOCK_SIZE_NODE, pair(from.block_size, packed(from.device_node)));
    set_links(record, from.nlink, aux_of(record[LINKS_AUX].load(Ordering::Relaxed)));
}

/// Returns the attribute bits in the word that has them beside other fields.
pub(crate) fn bits_of(from: &Attributes) -> u64 {
    u64::from(from.flags.bits()) << 10 | u64::from(from.flags_mask.bits())
}

/// Stores the time of the last access. The count is odd.
pub(super) fn set_access_time(record: &Record, time: Timestamp) {
    let time = time.kept();
    record[TIMES].store(low_of(time), Ordering::Relaxed);
    let others = record[SECONDS_HIGH].load(Ordering::Relaxed) & !0xffff;
    record[SECONDS_HIGH].store(others | high_of(time), Ordering::Relaxed);
}

/// Returns the lower bits of a time's seconds, and its nanoseconds.
fn low_of(time: Timestamp) -> u64 {
    (time.seconds as u64 & SECONDS_LOW) << 30 | u64::from(time.nanoseconds)
}

/// Returns the upper bits of a time's seconds.
fn high_of(time: Timestamp) -> u64 {
    u64::from((time.seconds >> 34) as u16)
}

pub(crate) fn set_links(record: &Record, links: u32, aux: u32) {
    record[LINKS_AUX].store(pair(links, aux), Ordering::Relaxed);
}

const SECONDS_LOW: u64 = (1 << 34) - 1;

/// Returns the attributes that these words hold.
pub(crate) fn attributes_of(words: &[u64; INODE_WORDS]) -> Attributes {
    let (uid, gid) = owner_of(words[OWNER]);
    let time = |at: usize| {
        let word = words[TIMES + at];
        let high = i64::from((words[SECONDS_HIGH] >> (16 * at)) as u16 as i16);
        Timestamp { seconds: high << 34 | (word >> 30) as i64, nanoseconds: word as u32 & ((1 << 30) - 1) }
    };
    let mixed = words[MIXED];
    let bits = |shift: u32| StatxFlags::from_bits_truncate((mixed >> shift) as u16 & 0x3ff);
    Attributes {
        kind: kind_of(words[WORD]),
        mode: mode_of(words[WORD]),
        nlink: (words[LINKS_AUX] >> 32) as u32,
        uid,
        gid,
        ino: words[INO],
        size: words[SIZE],
        blocks: words[BLOCKS],
        block_size: (words[BLOCK_SIZE_NODE] >> 32) as u32,
        device: unpacked((mixed >> 32) as u32),
        device_node: unpacked(words[BLOCK_SIZE_NODE] as u32),
        atime: time(0),
        mtime: time(1),
        ctime: time(2),
        btime: (words[WORD] & flags::BIRTH != 0).then(|| time(3)),
        flags: bits(10),
        flags_mask: bits(0),
        acl: acl_of(words[WORD]),
    }
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn packed(device: Device) -> u32 {
    (device.major & 0xfff) << 20 | (device.minor & 0xf_ffff)
}

fn unpacked(device: u32) -> Device {
    Device { major: device >> 20, minor: device & 0xf_ffff }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_field_survives() {
        let record: Record = std::array::from_fn(|_| AtomicU64::new(0));
        let time = |seconds, nanoseconds| Timestamp { seconds, nanoseconds };
        let attributes = Attributes {
            nlink: 7,
            uid: 0xffff_fffe,
            gid: 0x8000_0001,
            ino: u64::MAX,
            size: u64::MAX - 1,
            blocks: 1 << 63,
            block_size: 131_073,
            device: Device { major: 4095, minor: 0xf_ffff },
            device_node: Device { major: 1, minor: 3 },
            atime: time(-1, 999_999_999),
            mtime: time(i64::from(i32::MIN), 0),
            ctime: time(16_299_260_424, 1),
            btime: Some(time((1 << 49) - 1, 5)),
            flags: StatxFlags::IMMUTABLE | StatxFlags::WRITE_ATOMIC,
            flags_mask: StatxFlags::all(),
            acl: AclState::Unknown,
            ..Attributes::new(FileType::CharDevice, 0o7123)
        };
        set_fields(&record, &attributes, 4095);
        set_links(&record, attributes.nlink, 9);
        record[WORD].store(word_of(&attributes, PermissionRule::OwnButGenericSearch), Ordering::Relaxed);
        let words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
        assert_eq!(attributes_of(&words), attributes);
        assert_eq!((body_length(words[MIXED]), aux_of(words[LINKS_AUX])), (4095, 9));
        for atime in [Timestamp::MIN, Timestamp::MAX, time(-1, 1), time(1 << 34, 999_999_999)] {
            set_access_time(&record, atime);
            let words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
            assert_eq!(attributes_of(&words), Attributes { atime, ..attributes });
        }
        assert!(is_immutable(words[MIXED]));
    }

    #[test]
    fn each_flag_has_a_bit_of_its_own() {
        use flags::*;
        let one_bit = [OWN_RULE, GENERIC_SEARCH, STALE, BODY, BODY_LEFT_OUT, UNKNOWN, BIRTH, MARKED, NO_CAPABILITY];
        assert_eq!((BODY_DUE, KEEPS_ACCESS), (NEW, GENERIC_SEARCH), "the engine has no new inodes, and searches no links");
        let of_a_cache = [NEW, CREATING, FREEING, UNHASHED];
        let all = [1, ACL].into_iter().chain(one_bit).chain(of_a_cache);
        assert_eq!(all.clone().map(u64::count_ones).sum::<u32>(), 16, "two of the list's state, one of each other");
        assert_eq!(all.fold(0, |all, flag| all | flag), (1 << 16) - 1, "below the mode");
        assert_eq!((ACL >> ACL_SHIFT, MODE_SHIFT), (3, 16));
    }

    /// Checks that these bits do not reach the fields beside them: the length of a link's body, and
    /// the device.
    #[test]
    fn attribute_bits_without_a_name_are_dropped() {
        let record: Record = std::array::from_fn(|_| AtomicU64::new(0));
        let odd = |bits| Attributes {
            flags: StatxFlags::from_bits_retain(bits),
            flags_mask: StatxFlags::from_bits_retain(bits),
            ..Attributes::new(FileType::Symlink, 0o777)
        };
        for (bits, kept) in [(u16::MAX, StatxFlags::all() - StatxFlags::MOUNT_ROOT), (0xfc00, StatxFlags::empty())] {
            set_fields(&record, &normalised(odd(bits)), 7);
            let words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
            let found = attributes_of(&words);
            assert_eq!((found.flags, found.flags_mask), (kept, kept));
            assert_eq!((body_length(words[MIXED]), found.device), (7, Device::default()));
            assert_eq!(is_immutable(words[MIXED]), !kept.is_empty());
            assert_eq!(is_append_only(words[MIXED]), !kept.is_empty());
        }
        for (flag, is) in [(StatxFlags::IMMUTABLE, [true, false]), (StatxFlags::APPEND, [false, true])] {
            let others = StatxFlags::all();
            set_fields(&record, &Attributes { flags: flag, flags_mask: others, ..odd(0) }, 7);
            let mixed = record[MIXED].load(Ordering::Relaxed);
            assert_eq!([is_immutable(mixed), is_append_only(mixed)], is);
        }
    }
}
