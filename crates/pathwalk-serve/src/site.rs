//! The tree that is served, by pathwalk.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use pathwalk::{At, AtFlags, Context, Credentials, Errno, File, FileType, OpenFlags, StatxMask, Vfs};
use pathwalk_hostfs::HostFs;
use pathwalk_ring::{AsyncContext, Place, Pool};

use crate::file::Content;
use crate::request_path::index_of;
use crate::{OneHop, Opened, Refused, TokioFs};

/// What is asked for where a directory is.
pub(crate) const INDEX: &[u8] = b"index.html";

/// A tree, and whatever finds files in it.
#[derive(Clone, Debug)]
pub enum Served {
    /// Through the async face of pathwalk.
    Pathwalk(Site),
    /// By `tokio::fs`.
    TokioFs(TokioFs),
    /// By system calls on one of tokio's threads that may block.
    OneHop(OneHop),
}

impl Served {
    /// Opens a file, or the index of a directory, beneath the root.
    pub async fn open(&self, names: &[Vec<u8>]) -> Result<Opened, Refused> {
        match self {
            Served::Pathwalk(site) => site.open(names).await,
            Served::TokioFs(site) => site.open(names).await,
            Served::OneHop(site) => site.open(names).await,
        }
    }
}

/// The tree beneath the root of a [`Context`], read only.
///
/// If that is the root of its `Vfs`, there is nothing above it, and links are followed as after `chroot(2)`: an absolute one starts at the root, and
/// `..` ends there. If it is a directory further down, something may be moved out of it while a walk is in it, and `..` in a link would then
/// lead on outside: so no link is followed (`Forbidden`), and the names of a path are gone one by one, each in the directory to which
/// the one before led.
#[derive(Clone, Debug)]
pub struct Site {
    vfs: AsyncContext,
    links: Links,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Links {
    Followed,
    Refused,
}

impl Site {
    /// A directory of the host, with its own rights (those of `credentials`) and a budget for the caches in bytes.
    pub fn of_host(root: &Path, credentials: Credentials, budget: u64) -> anyhow::Result<Site> {
        let host = HostFs::open(root)?;
        let flags = host.mount_flags();
        let vfs = Vfs::builder().budget(budget).mount_flags(flags).build(host);
        let vfs = vfs.with_context(|| format!("building a Vfs of {budget} bytes over {root:?}"))?;
        Site::new(vfs.context(credentials), Pool::default()).context("asking for the root's path")
    }

    /// What the context has as its root. Fails if that was removed.
    pub fn new(context: Context, pool: Pool) -> Result<Site, Errno> {
        // A path beneath the root of the Vfs, whatever the context's is.
        let links = if context.root().path()? == b"/" { Links::Followed } else { Links::Refused };
        Ok(Site { vfs: AsyncContext::new(context, pool), links })
    }

    /// Opens a file, or the index of a directory.
    pub async fn open(&self, names: &[Vec<u8>]) -> Result<Opened, Refused> {
        let file = self.file(names).await?;
        let (file, length) = match self.regular(file).await? {
            Some(found) => found,
            None => self.regular(self.file(&index_of(names)).await?).await?.ok_or(Refused::Forbidden)?,
        };
        Ok(Opened { length, content: Content::Pathwalk(self.vfs.clone(), file) })
    }

    async fn file(&self, names: &[Vec<u8>]) -> Result<Arc<File>, Errno> {
        match self.links {
            Links::Followed => {
                let path = [b"/", names.join(&b'/').as_slice()].concat();
                self.vfs.open(&path, OpenFlags::READ.into()).await
            }
            Links::Refused => self.step_by_step(names).await,
        }
    }

    async fn step_by_step(&self, names: &[Vec<u8>]) -> Result<Arc<File>, Errno> {
        let to_read = OpenFlags::READ | OpenFlags::NOFOLLOW;
        let Some((last, dirs)) = names.split_last() else { return self.vfs.open("/", to_read.into()).await };
        let mut at = self.vfs.context().root().clone();
        for dir in dirs {
            at = self.vfs.lookup(Place::new(At::Handle(&at), dir), AtFlags::SYMLINK_NOFOLLOW).await?;
            if at.kind() == FileType::Symlink {
                return Err(Errno::ELOOP);
            }
        }
        // A slash behind it asks for a directory.
        let last = if last.is_empty() { b".".as_slice() } else { last };
        self.vfs.open(Place::new(At::Handle(&at), last), to_read.into()).await
    }

    /// A file and its length; `None` for a directory.
    async fn regular(&self, file: Arc<File>) -> Result<Option<(Arc<File>, u64)>, Errno> {
        match file.handle().kind() {
            FileType::Regular => {}
            FileType::Directory => return Ok(None),
            _ => return Err(Errno::EACCES),
        }
        let itself = Place::new(At::Handle(file.handle()), "");
        let length = self.vfs.statx(itself, AtFlags::EMPTY_PATH, StatxMask::SIZE).await?.attributes.size;
        Ok(Some((file, length)))
    }
}
