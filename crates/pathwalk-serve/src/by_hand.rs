//! The same tree without pathwalk: as it is usually written with `tokio::fs`, and with system calls
//! on one blocking thread, as fast as those are.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
use tokio::fs;

use crate::file::Content;
use crate::request_path::index_of;
use crate::{Opened, Refused};

/// A tree served by `tokio::fs`, with each call on a thread that may block. The path with all links
/// resolved has to be beneath the root. Otherwise the answer is `Forbidden`.
///
/// The tree may change between that check and the open. Without `openat2(2)`, which `tokio::fs`
/// does not have, this cannot be avoided.
#[derive(Clone, Debug)]
pub struct TokioFs {
    root: Arc<Path>,
}

impl TokioFs {
    /// Opens the directory `root` as the root, following links in its path.
    pub fn new(root: &Path) -> anyhow::Result<TokioFs> {
        let root = root.canonicalize().with_context(|| format!("resolving {root:?}"))?;
        Ok(TokioFs { root: root.into() })
    }

    /// Opens a file, or the index of a directory.
    pub async fn open(&self, names: &[Vec<u8>]) -> Result<Opened, Refused> {
        let path = self.root.join(relative(names));
        if let Some(opened) = self.regular(&path).await? {
            return Ok(opened);
        }
        self.regular(&self.root.join(relative(&index_of(names)))).await?.ok_or(Refused::Forbidden)
    }

    async fn regular(&self, path: &Path) -> Result<Option<Opened>, Refused> {
        let path = fs::canonicalize(path).await?;
        if !path.starts_with(&self.root) {
            return Err(Refused::Forbidden);
        }
        // With this flag, the open does not wait for the other end of a pipe.
        let nonblock = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::OpenOptions::new().read(true).custom_flags(nonblock).open(path).await?;
        let metadata = file.metadata().await?;
        if metadata.is_dir() {
            return Ok(None);
        }
        if !metadata.is_file() {
            return Err(Refused::Forbidden);
        }
        Ok(Some(Opened { length: metadata.len(), content: Content::Tokio(file) }))
    }
}

/// A tree served by `openat2(2)` beneath a descriptor of the root, `fstat` and `read`, all on one
/// thread that may block: one hop a request. Links are followed as after `chroot(2)`.
#[derive(Clone, Debug)]
pub struct OneHop {
    root: Arc<OwnedFd>,
}

impl OneHop {
    /// Opens the directory `root` as the root, following links in its path.
    pub fn new(root: &Path) -> anyhow::Result<OneHop> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).with_context(|| format!("opening the directory {root:?}"))?;
        Ok(OneHop { root: Arc::new(fd) })
    }

    /// Opens a file, or the index of a directory, and reads it if it is short.
    pub async fn open(&self, names: &[Vec<u8>]) -> Result<Opened, Refused> {
        let (root, path, index) = (Arc::clone(&self.root), relative(names), relative(&index_of(names)));
        tokio::task::spawn_blocking(move || match read_below(&root, &path)? {
            Some(opened) => Ok(opened),
            None => read_below(&root, &index)?.ok_or(Refused::Forbidden),
        })
        .await
        .unwrap_or(Err(Refused::Failed))
    }
}

fn read_below(root: &OwnedFd, path: &Path) -> Result<Option<Opened>, Refused> {
    let refused = |errno: rustix::io::Errno| Refused::from(pathwalk::Errno::from_raw(errno.raw_os_error()));
    // `NONBLOCK` is set so that the open does not wait for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let fd = openat2(root.as_fd(), path, flags, Mode::empty(), resolve).map_err(refused)?;
    let stat = fstat(&fd).map_err(refused)?;
    let length = stat.st_size as u64;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => {}
        rustix::fs::FileType::Directory => return Ok(None),
        _ => return Err(Refused::Forbidden),
    }
    let mut file = std::fs::File::from(fd);
    if length > crate::answer::AT_ONCE {
        return Ok(Some(Opened { length, content: Content::Tokio(file.into()) }));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    (&mut file).take(length).read_to_end(&mut bytes)?;
    Ok(Some(Opened { length, content: Content::Whole(bytes) }))
}

fn relative(names: &[Vec<u8>]) -> PathBuf {
    names.iter().map(|name| OsStr::from_bytes(name)).collect()
}
