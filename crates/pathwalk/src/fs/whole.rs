//! Whole files: read, written, copied.

use super::failed;
use crate::abi::{AtFlags, OpenFlags, OpenHow};
use crate::attr::FileType;
use crate::context::{AsPath, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::file::File;

/// Most bytes that are read by one call, and so room that is made for bytes that may not come.
const AT_ONCE: usize = 1 << 20;

/// Bytes that are copied at a time.
const COPIED_AT_ONCE: usize = 64 << 10;

impl Context {
    /// Returns all that is in a file. Errors as [`open`](Self::open) and [`File::read`]; `EISDIR`
    /// for a directory, `ENOMEM` for what does not fit into memory. Source: [`std::fs::read`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/motd", "hello")?;
    /// assert_eq!(context.read("/motd")?, b"hello");
    /// assert_eq!(context.read_to_string("/motd")?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, path: impl AsPath) -> Result<Vec<u8>, Error> {
        let path = path.path_bytes();
        self.read_whole(path).map_err(failed("read", path))
    }

    /// Returns all that is in a file, as text: `EILSEQ`, which is
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) in the standard library, for what is not
    /// UTF-8. Else errors as [`read`](Self::read). Source: [`std::fs::read_to_string`].
    pub fn read_to_string(&self, path: impl AsPath) -> Result<String, Error> {
        let path = path.path_bytes();
        let text = self.read_whole(path).and_then(|bytes| String::from_utf8(bytes).map_err(|_| Errno::EILSEQ));
        text.map_err(failed("read_to_string", path))
    }

    fn read_whole(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        read_to_end(&self.open(path, OpenFlags::READ)?)
    }

    /// Writes a file: in place of all that was in it, or a new one with mode 0666 before the umask.
    /// Errors as [`open`](Self::open) and [`File::write`]; after one, a part may be written.
    /// Source: [`std::fs::write`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/motd", b"hello")?;
    /// assert_eq!(context.metadata("/motd")?.mode, 0o644);
    /// assert_eq!(context.write("/", b"hello").unwrap_err().errno(), Errno::EISDIR);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: impl AsPath, contents: impl AsRef<[u8]>) -> Result<(), Error> {
        let path = path.path_bytes();
        let written = self.open(path, to_replace(OpenHow::NEW_FILE)).and_then(|file| file.write_all(contents.as_ref()));
        written.map_err(failed("write", path))
    }

    /// Copies what is in a file, and its permission bits, to another, in place of all that was in
    /// it; returns how many bytes it were. Links are followed at both ends. Source:
    /// [`std::fs::copy`].
    ///
    /// A file that is copied to itself is empty then. `EINVAL` if `from` is no regular file; else
    /// errors as [`open`](Self::open), [`File::read`], [`File::write`] and [`chmod`](Self::chmod),
    /// of either path; after one, a part may be written. Cost: 64 KiB of memory; holes become
    /// zeroes.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "hello")?;
    /// context.set_permissions("/a", 0o750)?;
    /// assert_eq!(context.copy("/a", "/b")?, 5);
    /// assert_eq!((context.read("/b")?, context.metadata("/b")?.mode), (b"hello".into(), 0o750));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy(&self, from: impl AsPath, to: impl AsPath) -> Result<u64, Error> {
        let (from, to) = (from.path_bytes(), to.path_bytes());
        self.copy_whole(from, to).map_err(|errno| Error::of_two("copy", from, to, errno))
    }

    fn copy_whole(&self, from: &[u8], to: &[u8]) -> Result<u64, Errno> {
        let from = self.open(from, OpenFlags::READ)?;
        let of = from.handle().attributes()?;
        if of.kind != FileType::Regular {
            return Err(Errno::EINVAL);
        }
        let to = self.open(to, to_replace(of.mode))?;
        // It may have been there with other bits, and the umask may have taken some.
        self.fchmodat(to.handle(), "", of.mode, AtFlags::EMPTY_PATH)?;
        let (mut buffer, mut copied) = (vec![0; COPIED_AT_ONCE], 0);
        loop {
            match read_some(&from, &mut buffer)? {
                0 => return Ok(copied),
                length => {
                    to.write_all(&buffer[..length])?;
                    copied += length as u64;
                }
            }
        }
    }
}

/// Returns the parameters of an open that replaces the contents of a file.
fn to_replace(mode: u16) -> OpenHow {
    OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::TRUNCATE, mode, ..OpenHow::default() }
}

fn read_to_end(file: &File) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let size = file.handle().attributes().map_or(0, |attributes| attributes.size);
    bytes.try_reserve_exact(usize::try_from(size).map_err(|_| Errno::ENOMEM)?).map_err(|_| Errno::ENOMEM)?;
    loop {
        let length = bytes.len();
        let room = (bytes.capacity() - length).min(AT_ONCE);
        if room == 0 {
            // So much was told of; to see that it is all takes no more room.
            let mut more = [0; 32];
            let read = read_some(file, &mut more)?;
            if read == 0 {
                return Ok(bytes);
            }
            bytes.try_reserve(read).map_err(|_| Errno::ENOMEM)?;
            bytes.extend_from_slice(&more[..read]);
            continue;
        }
        bytes.resize(length + room, 0);
        let read = read_some(file, &mut bytes[length..])?;
        bytes.truncate(length + read);
        if read == 0 {
            return Ok(bytes);
        }
    }
}

/// Reads until it is not interrupted.
fn read_some(file: &File, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match file.read(buffer) {
            Err(Errno::EINTR) => {}
            read => return read,
        }
    }
}
