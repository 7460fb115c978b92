//! Comparison of data with the kernel: the same random writes, truncations, reads, allocations,
//! holes and searches for them on a file of tmpfs and on one of a `MemFs` give the same answers,
//! sizes, blocks and bytes. To reproduce a
//! failure, use the seed that it prints.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use pathwalk::{Errno, FallocateFlags, FileSystem, OpenFile, OpenFor, SetAttributes, WriteAt};
use pathwalk_memfs::MemFs;
use pathwalk_tests::skipped;
use rustix::fs;

const TMPFS_MAGIC: i64 = 0x0102_1994;
const PAGE: u64 = 4096;
const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

#[derive(Debug)]
enum Op {
    Write(u64, usize, u8),
    Truncate(u64),
    Read(u64, usize),
    Allocate(FallocateFlags, u64, u64),
    SeekData(u64),
    SeekHole(u64),
}

impl Op {
    fn random(mut next: impl FnMut(u64) -> u64) -> Op {
        let far = [0, 0, 0, 1 << 20, 1 << 40, i64::MAX as u64 - PAGE + 1][next(6) as usize];
        let offset = far + (next(4) * PAGE + next(5)).saturating_sub(2);
        let offset = offset.min(i64::MAX as u64);
        let length = (next(3) * PAGE + next(5)).saturating_sub(2).min(i64::MAX as u64 - offset) as usize;
        let near = offset - far;
        match next(9) {
            5 => Op::SeekData(offset),
            6 => Op::SeekHole(offset),
            7 => Op::Allocate(PUNCH, offset.min(i64::MAX as u64 - 1), length.max(1) as u64),
            8 => Op::Allocate([FallocateFlags::empty(), FallocateFlags::KEEP_SIZE][next(2) as usize], near, length.max(1) as u64),
            0..3 => Op::Write(offset, length, 1 + next(255) as u8),
            3 => Op::Truncate(offset),
            _ => Op::Read(offset, length),
        }
    }

    fn on_host(&self, file: &File) -> io::Result<Vec<u8>> {
        match *self {
            Op::Write(offset, length, byte) => file.write_at(&vec![byte; length], offset).map(|written| vec![byte; written]),
            Op::Truncate(size) => file.set_len(size).map(|()| Vec::new()),
            Op::Read(offset, length) => {
                let mut buffer = vec![0; length];
                let read = file.read_at(&mut buffer, offset)?;
                buffer.truncate(read);
                Ok(buffer)
            }
            Op::Allocate(mode, offset, length) => {
                let mode = fs::FallocateFlags::from_bits_retain(mode.bits());
                fs::fallocate(file, mode, offset, length)?;
                Ok(Vec::new())
            }
            Op::SeekData(offset) => Ok(fs::seek(file, fs::SeekFrom::Data(offset))?.to_le_bytes().into()),
            Op::SeekHole(offset) => Ok(fs::seek(file, fs::SeekFrom::Hole(offset))?.to_le_bytes().into()),
        }
    }

    fn on_memfs(&self, memfs: &MemFs, file: &dyn OpenFile) -> Result<Vec<u8>, Errno> {
        match *self {
            Op::Write(offset, length, byte) => {
                file.write_at(&vec![byte; length], WriteAt::Offset(offset)).map(|written| vec![byte; written.bytes])
            }
            Op::Truncate(size) => {
                let set = SetAttributes::default().with_size(size);
                let node = memfs.key("f").map_err(|error| error.errno())?;
                memfs.set_attributes(node, &set).map(|_| Vec::new())
            }
            Op::Read(offset, length) => {
                let mut buffer = vec![0; length];
                let read = file.read_at(&mut buffer, offset)?;
                buffer.truncate(read);
                Ok(buffer)
            }
            Op::Allocate(mode, offset, length) => file.fallocate(mode, offset, length).map(|()| Vec::new()),
            Op::SeekData(offset) => file.seek_data(offset, 0).map(|at| at.to_le_bytes().into()),
            Op::SeekHole(offset) => file.seek_hole(offset, 0).map(|at| at.to_le_bytes().into()),
        }
    }
}

fn compare(theirs: &File, seed: u64) {
    let (memfs, mut state) = (MemFs::new(), seed);
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    memfs.file("f", 0o644).unwrap();
    let ours = memfs.open(memfs.key("f").unwrap(), OpenFor::READ | OpenFor::WRITE).unwrap();
    for step in 0..200 {
        let op = Op::random(&mut next);
        // In the last page of all, the kernel's search computes past the greatest offset.
        if matches!(op, Op::SeekData(_) | Op::SeekHole(_)) && theirs.metadata().unwrap().size() > 1 << 62 {
            continue;
        }
        let done = op.on_memfs(&memfs, &*ours);
        let expected = op.on_host(theirs).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)));
        assert!(
            done == expected,
            "seed {seed}, step {step}, {op:?}: {:?}, not {:?}",
            done.map(|d| d.len()),
            expected.map(|d| d.len())
        );
        let (found, there) = (memfs.stat("f").unwrap(), theirs.metadata().unwrap());
        assert_eq!((found.size, found.blocks), (there.size(), there.blocks()), "seed {seed}, step {step}, {op:?}");
    }
}

#[test]
fn the_kernel_agrees_on_data() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        return skipped("the_kernel_agrees_on_data", "/dev/shm cannot be written");
    };
    for seed in 0..40 {
        let file = tempfile::tempfile_in(dir.path()).unwrap();
        if rustix::fs::fstatfs(&file).unwrap().f_type != TMPFS_MAGIC {
            return skipped("the_kernel_agrees_on_data", "/dev/shm is no tmpfs");
        }
        compare(&file, seed);
    }
}
