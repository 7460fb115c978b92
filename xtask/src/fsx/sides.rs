//! The files of pathwalk, on a `MemFs` or a `HostFs`, and those of the kernel.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

use super::disk::Disk;
use super::op::{Op, PAGE, bytes};
use super::oracle::{Answer, Expected, Oracle};

/// The kind of a side: where its data is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In memory, where the state of each page is known.
    Pathwalk,
    /// In a file of the kernel's.
    Kernel(Disk),
}

/// Two files on which operations are carried out.
pub(super) trait Side {
    fn kind(&self) -> Kind;

    fn name(&self) -> &'static str;

    /// Carries out an operation that the oracle has carried out, with the answer `expected`.
    fn carry_out(&mut self, op: &Op, oracle: &Oracle, expected: &Answer) -> Result<Answer>;

    /// Returns how the files differ from the oracle's.
    fn differs(&self, oracle: &Oracle) -> Result<Option<String>>;
}

/// Two files of pathwalk.
pub(super) struct OurFiles {
    files: [pathwalk::File; 2],
    /// The host's file system; `None` for files in memory.
    host: Option<Disk>,
}

impl OurFiles {
    /// Creates two empty files in memory.
    pub(super) fn new() -> Result<OurFiles> {
        OurFiles::on(&Vfs::builder().build(MemFs::new())?, None)
    }

    /// Creates two empty files in a directory of the host.
    pub(super) fn on_host(directory: &Path, disk: Disk) -> Result<OurFiles> {
        let directory = directory.join("pathwalk");
        _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).with_context(|| format!("make {}", directory.display()))?;
        OurFiles::on(&Vfs::builder().build(HostFs::open_writable(&directory)?.with_coherence(Coherence::Exclusive))?, Some(disk))
    }

    fn on(vfs: &Vfs, host: Option<Disk>) -> Result<OurFiles> {
        let context = vfs.context(Credentials::root());
        let open = |path| context.open(path, OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE);
        Ok(OurFiles { files: [open("/a")?, open("/b")?], host })
    }

    /// Does as [`answer`](Self::answer). What the host does not have is replaced.
    fn answer_here(&self, op: &Op, oracle: &Oracle) -> Result<Answer, Errno> {
        match (*op, self.host) {
            (Op::Clone { to, .. }, Some(disk)) if !disk.has_clones() => {
                let data = &oracle.0[to].data;
                self.files[to].write_all_at(data, 0)?;
                self.files[to].set_len(data.len() as u64).map(|()| Answer::Done)
            }
            (Op::Fallocate { file, mode, offset, length }, Some(disk)) => {
                self.files[file].fallocate(disk.possible(mode), offset, length).map(|()| Answer::Done)
            }
            _ => self.answer(op),
        }
    }

    fn answer(&self, op: &Op) -> Result<Answer, Errno> {
        let files = &self.files;
        let number = |count: usize| Answer::Number(count as u64);
        let done = |()| Answer::Done;
        match *op {
            Op::Read { file, offset, length } => {
                let mut buffer = vec![0xee; length as usize];
                let read = files[file].read_at(&mut buffer, offset)?;
                buffer.truncate(read);
                Ok(Answer::Bytes(buffer))
            }
            Op::Write { file, offset, length, byte } => files[file].write_at(&bytes(byte, length), offset).map(number),
            Op::Truncate { file, size } => files[file].set_len(size).map(done),
            Op::Fallocate { file, mode, offset, length } => files[file].fallocate(mode, offset, length).map(done),
            Op::SeekData { file, offset } => files[file].seek_data(offset).map(Answer::Number),
            Op::SeekHole { file, offset } => files[file].seek_hole(offset).map(Answer::Number),
            Op::Copy { from, start, to, at, length } => {
                files[from].copy_file_range(Some(start), &files[to], Some(at), length as usize).map(number)
            }
            Op::Clone { from, start, to, at, length } => files[to].clone_range(&files[from], start, length, at).map(done),
        }
    }
}

impl Side for OurFiles {
    fn kind(&self) -> Kind {
        self.host.map_or(Kind::Pathwalk, Kind::Kernel)
    }

    fn name(&self) -> &'static str {
        if self.host.is_none() { "pathwalk" } else { "pathwalk on the host" }
    }

    fn carry_out(&mut self, op: &Op, oracle: &Oracle, expected: &Answer) -> Result<Answer> {
        if let (Op::Clone { .. }, Answer::Failed(_), Some(Disk::Ext4)) = (op, expected, self.host) {
            return Ok(expected.clone());
        }
        let answer = |op: &Op| self.answer_here(op, oracle).unwrap_or_else(Answer::Failed);
        Ok(if self.host == Some(Disk::Xfs) { of_parts(op, expected, &answer) } else { answer(op) })
    }

    fn differs(&self, oracle: &Oracle) -> Result<Option<String>> {
        for (number, (file, expected)) in self.files.iter().zip(&oracle.0).enumerate() {
            let found = file.handle().attributes()?;
            let mut data = vec![0; found.size as usize];
            ensure!(file.read_at(&mut data, 0)? == data.len(), "a read is short");
            if let Some(text) = contents_differ(&data, expected) {
                return Ok(Some(format!("file {number}: {text}")));
            }
            if self.host.is_none() && found.blocks != expected.count() * (PAGE / 512) {
                let (blocks, pages) = (found.blocks, expected.count());
                return Ok(Some(format!("file {number}: {blocks} blocks are allocated, and {pages} pages are expected")));
            }
        }
        Ok(None)
    }
}

/// Two files of the kernel.
pub(super) struct KernelFiles {
    files: [File; 2],
    disk: Disk,
}

impl KernelFiles {
    /// Creates two empty files in a directory. Waits until the space of former ones is free, if
    /// half of all is taken: ext4 gives it back when it commits its journal.
    pub(super) fn new(directory: &Path, disk: Disk) -> Result<KernelFiles> {
        let space = rustix::fs::statvfs(directory)?;
        if space.f_bfree < space.f_blocks / 2 {
            rustix::fs::syncfs(File::open(directory)?)?;
        }
        let open = |name| {
            let path = directory.join(name);
            _ = fs::remove_file(&path);
            OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)
                .with_context(|| format!("make {}", path.display()))
        };
        Ok(KernelFiles { files: [open("fsx-a")?, open("fsx-b")?], disk })
    }

    fn answer(&self, op: &Op, oracle: &Oracle) -> std::io::Result<Answer> {
        let files = &self.files;
        let done = |()| Answer::Done;
        Ok(match *op {
            Op::Read { file, offset, length } => {
                let mut buffer = vec![0; length as usize];
                let read = files[file].read_at(&mut buffer, offset)?;
                buffer.truncate(read);
                Answer::Bytes(buffer)
            }
            Op::Write { file, offset, length, byte } => {
                Answer::Number(files[file].write_at(&bytes(byte, length), offset)? as u64)
            }
            Op::Truncate { file, size } => files[file].set_len(size).map(done)?,
            Op::Fallocate { file, mode, offset, length } => {
                let mode = rustix::fs::FallocateFlags::from_bits_retain(self.disk.possible(mode).bits());
                rustix::fs::fallocate(&files[file], mode, offset, length).map(done)?
            }
            Op::SeekData { file, offset } => Answer::Number(rustix::fs::seek(&files[file], rustix::fs::SeekFrom::Data(offset))?),
            Op::SeekHole { file, offset } => Answer::Number(rustix::fs::seek(&files[file], rustix::fs::SeekFrom::Hole(offset))?),
            Op::Copy { from, mut start, to, mut at, length } => {
                let (start, at) = (Some(&mut start), Some(&mut at));
                Answer::Number(rustix::fs::copy_file_range(&files[from], start, &files[to], at, length as usize)? as u64)
            }
            Op::Clone { from, start, to, at, length } if self.disk.has_clones() => {
                share((&files[from], start), (&files[to], at), length).map(done)?
            }
            Op::Clone { to, .. } => {
                // The file is written as it has to be, where no data is shared.
                let data = &oracle.0[to].data;
                files[to].write_all_at(data, 0)?;
                files[to].set_len(data.len() as u64).map(done)?
            }
        })
    }
}

impl Side for KernelFiles {
    fn kind(&self) -> Kind {
        Kind::Kernel(self.disk)
    }

    fn name(&self) -> &'static str {
        "the kernel"
    }

    fn carry_out(&mut self, op: &Op, oracle: &Oracle, expected: &Answer) -> Result<Answer> {
        if let (Op::Clone { .. }, Answer::Failed(_), Disk::Ext4) = (op, expected, self.disk) {
            return Ok(expected.clone());
        }
        let failed = |error: std::io::Error| Answer::Failed(Errno::from_raw(error.raw_os_error().unwrap_or(0)));
        let answer = |op: &Op| self.answer(op, oracle).unwrap_or_else(failed);
        Ok(if self.disk == Disk::Xfs { of_parts(op, expected, &answer) } else { answer(op) })
    }

    fn differs(&self, oracle: &Oracle) -> Result<Option<String>> {
        for (number, (file, expected)) in self.files.iter().zip(&oracle.0).enumerate() {
            let mut data = vec![0; file.metadata()?.len() as usize];
            file.read_exact_at(&mut data, 0)?;
            if let Some(text) = contents_differ(&data, expected) {
                return Ok(Some(format!("file {number}: {text}")));
            }
        }
        Ok(None)
    }
}

/// Carries an operation out. Goes on with a copy that ended before the expected byte: XFS shares
/// the whole blocks at its begin, and leaves the rest.
fn of_parts(op: &Op, expected: &Answer, answer: &impl Fn(&Op) -> Answer) -> Answer {
    let found = answer(op);
    match (*op, &found, expected) {
        (Op::Copy { from, start, to, at, length }, Answer::Number(part), Answer::Number(all)) if (1..*all).contains(part) => {
            let rest = Op::Copy { from, start: start + part, to, at: at + part, length: length - part };
            match of_parts(&rest, &Answer::Number(all - part), answer) {
                Answer::Number(more) => Answer::Number(part + more),
                other => other,
            }
        }
        _ => found,
    }
}

/// Makes a range of one file share the data of a range of another.
fn share(from: (&File, u64), to: (&File, u64), length: u64) -> std::io::Result<()> {
    let range =
        libc::file_clone_range { src_fd: from.0.as_raw_fd().into(), src_offset: from.1, src_length: length, dest_offset: to.1 };
    // SAFETY: the request reads the structure, which lives during the call, as both descriptors do.
    let failed = unsafe { libc::ioctl(to.0.as_raw_fd(), libc::FICLONERANGE, &raw const range) };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn contents_differ(found: &[u8], expected: &Expected) -> Option<String> {
    if found.len() != expected.data.len() {
        return Some(format!("{} bytes long, and {} are expected", found.len(), expected.data.len()));
    }
    let at = found.iter().zip(&expected.data).position(|(found, expected)| found != expected)?;
    Some(format!("byte {at} is {}, and {} is expected", found[at], expected.data[at]))
}
