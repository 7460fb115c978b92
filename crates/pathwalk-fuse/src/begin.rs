//! The first request of a mount, by which both sides tell what they can.

use pathwalk::Errno;
use rustix::io;
use zerocopy::IntoBytes;

use crate::abi::{InitFlags, InitIn, InitOut, LEAST_MINOR, MAJOR, MINOR, Opcode, OutHeader};
use crate::device::Device;
use crate::notice::Abilities;
use crate::request::Request;
use crate::session::{MOST_BEFORE, MOST_DATA};
use crate::{Options, Writes};

/// The most requests that the kernel sends without a caller that waits for each (reading ahead).
const MOST_IN_BACKGROUND: u16 = 64;

/// What is asked of the kernel, where it can do it.
///
/// Not that an open takes the contents itself (`FUSE_ATOMIC_O_TRUNC`): the kernel would look too
/// late whether the file is a program that runs (`ETXTBSY`), of which the contents are gone then.
const WANTED: InitFlags = InitFlags::ASYNC_READ
    .union(InitFlags::EXPORT_SUPPORT)
    .union(InitFlags::BIG_WRITES)
    .union(InitFlags::DONT_MASK)
    .union(InitFlags::DO_READDIRPLUS)
    .union(InitFlags::READDIRPLUS_AUTO)
    .union(InitFlags::ASYNC_DIO)
    .union(InitFlags::PARALLEL_DIROPS)
    .union(InitFlags::POSIX_ACL)
    .union(InitFlags::MAX_PAGES)
    .union(InitFlags::CACHE_SYMLINKS)
    .union(InitFlags::HANDLE_KILLPRIV_V2)
    .union(InitFlags::SETXATTR_EXT)
    .union(InitFlags::INIT_EXT)
    .union(InitFlags::NO_OPEN_SUPPORT)
    .union(InitFlags::NO_OPENDIR_SUPPORT)
    .union(InitFlags::HAS_EXPIRE_ONLY);

/// Answers the kernel's first request, and returns what both sides can.
///
/// `EPROTO` for anything else, and for a kernel before Linux 5.14, which is told so.
pub(crate) fn begin(device: &Device, options: &Options) -> io::Result<Abilities> {
    let mut buffer = vec![0; MOST_BEFORE + MOST_DATA];
    let length = device.receive(&mut buffer)?.ok_or(io::Errno::NOTCONN)?;
    let Request { header, mut body } = Request::parse(&buffer[..length]).ok_or(io::Errno::PROTO)?;
    // Kernels before 5.17 leave out what is behind the first word of flags.
    let init: InitIn = body.take_padded();
    if header.opcode != Opcode::Init as u32 || init.major != MAJOR || init.minor < LEAST_MINOR {
        let refused = OutHeader { len: size_of::<OutHeader>() as u32, error: -Errno::EPROTO.raw(), unique: header.unique };
        device.send(refused.as_bytes())?;
        return Err(io::Errno::PROTO);
    }
    let offered = InitFlags::from_bits_retain(u64::from(init.flags) | (u64::from(init.flags2) << 32));
    let mut wanted = WANTED;
    wanted.set(InitFlags::AUTO_INVAL_DATA, !options.times.is_forever());
    wanted.set(InitFlags::WRITEBACK_CACHE, options.writes == Writes::Back);
    let flags = (wanted & offered).bits();
    let answer = InitOut {
        major: MAJOR,
        minor: MINOR.min(init.minor),
        max_readahead: init.max_readahead,
        flags: flags as u32,
        flags2: (flags >> 32) as u32,
        max_background: MOST_IN_BACKGROUND,
        congestion_threshold: MOST_IN_BACKGROUND / 4 * 3,
        max_write: MOST_DATA as u32,
        time_gran: 1,
        max_pages: (MOST_DATA / 4096) as u16,
        ..InitOut::default()
    };
    let length = size_of::<OutHeader>() + size_of::<InitOut>();
    let head = OutHeader { len: length as u32, error: 0, unique: header.unique };
    device.send(&[head.as_bytes(), answer.as_bytes()].concat())?;
    Ok(Abilities { minor: answer.minor, flags: wanted & offered })
}
