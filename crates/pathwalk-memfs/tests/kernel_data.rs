//! Comparison of data with the kernel: the same random writes, truncations and reads on a file of
//! tmpfs and on one of a `MemFs` give the same answers, sizes, blocks and bytes. To reproduce a
//! failure, use the seed that it prints.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use pathwalk::{Errno, FileSystem, OpenFile, OpenFor, SetAttributes, WriteAt};
use pathwalk_memfs::MemFs;
use pathwalk_tests::skipped;

const TMPFS_MAGIC: i64 = 0x0102_1994;
const PAGE: u64 = 4096;

#[derive(Debug)]
enum Op {
    Write(u64, usize, u8),
    Truncate(u64),
    Read(u64, usize),
}

impl Op {
    fn random(mut next: impl FnMut(u64) -> u64) -> Op {
        let far = [0, 0, 0, 1 << 20, 1 << 40, i64::MAX as u64 - PAGE + 1][next(6) as usize];
        let offset = far + (next(4) * PAGE + next(5)).saturating_sub(2);
        let offset = offset.min(i64::MAX as u64);
        let length = (next(3) * PAGE + next(5)).saturating_sub(2).min(i64::MAX as u64 - offset) as usize;
        match next(5) {
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
        }
    }

    fn on_memfs(&self, fs: &MemFs, file: &dyn OpenFile) -> Result<Vec<u8>, Errno> {
        match *self {
            Op::Write(offset, length, byte) => {
                file.write_at(&vec![byte; length], WriteAt::Offset(offset)).map(|written| vec![byte; written.bytes])
            }
            Op::Truncate(size) => {
                let set = SetAttributes::default().with_size(size);
                let node = fs.key("f").map_err(|error| error.errno())?;
                fs.set_attributes(node, &set).map(|_| Vec::new())
            }
            Op::Read(offset, length) => {
                let mut buffer = vec![0; length];
                let read = file.read_at(&mut buffer, offset)?;
                buffer.truncate(read);
                Ok(buffer)
            }
        }
    }
}

fn compare(theirs: &File, seed: u64) {
    let (fs, mut state) = (MemFs::new(), seed);
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    fs.file("f", 0o644).unwrap();
    let ours = fs.open(fs.key("f").unwrap(), OpenFor::READ | OpenFor::WRITE).unwrap();
    for step in 0..200 {
        let op = Op::random(&mut next);
        let done = op.on_memfs(&fs, &*ours);
        let expected = op.on_host(theirs).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)));
        assert!(
            done == expected,
            "seed {seed}, step {step}, {op:?}: {:?}, not {:?}",
            done.map(|d| d.len()),
            expected.map(|d| d.len())
        );
        let (found, there) = (fs.stat("f").unwrap(), theirs.metadata().unwrap());
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
