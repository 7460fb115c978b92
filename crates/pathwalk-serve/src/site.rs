//! The tree that is served, through pathwalk.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use pathwalk::{At, AtFlags, Context, Credentials, Errno, File, FileType, OpenFlags, StatxMask, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_ring::{AsyncContext, Place, Pool};

use crate::file::Content;
use crate::request_path::index_of;
use crate::{OneHop, Opened, Refused, TokioFs};

/// The name of the file that is served for a directory.
pub(crate) const INDEX: &[u8] = b"index.html";

/// A tree, and the code that finds files in it.
#[derive(Clone, Debug)]
pub enum Served {
    /// The async face of pathwalk.
    Pathwalk(Site),
    /// The file system calls of `tokio::fs`.
    TokioFs(TokioFs),
    /// System calls on one of tokio's threads that may block.
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
/// The context is confined to its root: links are followed, an absolute one from the root on, and
/// `..` ends there. A walk that is in a directory while it is moved out of the root reaches nothing
/// outside.
#[derive(Clone, Debug)]
pub struct Site {
    vfs: AsyncContext,
}

/// The number of walks of a path, each ended by directories that were moved beside it, before the
/// request fails.
const TRIES: usize = 1000;

impl Site {
    /// Opens a directory of the host, with the rights of `credentials` and a budget for the caches
    /// in bytes. What other processes change below it is served as soon as its event came.
    pub fn of_host(root: &Path, credentials: Credentials, budget: u64) -> anyhow::Result<Site> {
        let host = HostFs::open(root)?.with_coherence(Coherence::Watch);
        let flags = host.mount_flags();
        let vfs = Vfs::builder().budget(budget).mount_flags(flags).build(host);
        let vfs = vfs.with_context(|| format!("building a Vfs of {budget} bytes over {root:?}"))?;
        Site::new(vfs.context(credentials), Pool::default()).context("confining it to its root")
    }

    /// Serves the root of the context. Fails with `EACCES` if the context may not search it.
    pub fn new(context: Context, pool: Pool) -> Result<Site, Errno> {
        let confined = context.confined(context.root())?;
        Ok(Site { vfs: AsyncContext::new(confined, pool) })
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
        let path = [b"/", names.join(&b'/').as_slice()].concat();
        for _ in 1..TRIES {
            match self.vfs.open(&path, OpenFlags::READ).await {
                // ESTALE: directories on the way were moved by another process, twice.
                Err(Errno::EAGAIN | Errno::ESTALE) => {}
                answer => return answer,
            }
        }
        self.vfs.open(&path, OpenFlags::READ).await
    }

    /// Returns a file and its length, or `None` for a directory.
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
