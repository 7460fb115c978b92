//! The errors of mounting a layer, and of taking it into a branch.

use std::io;
use std::path::{Path, PathBuf};

use pathwalk::Errno;

/// A layer that could not be mounted or taken.
///
/// ```
/// use pathwalk_overlay::{Error, Layer};
/// let error = Layer::open("/nonexistent".as_ref()).unwrap_err();
/// assert!(matches!(error, Error::Host { .. }));
/// assert!(error.to_string().contains("/nonexistent"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tree refused an operation.
    #[error("cannot {action} \"{}\": {errno}", path.escape_ascii())]
    Tree {
        /// The operation.
        action: &'static str,
        /// The path, below the root of the mount.
        path: Box<[u8]>,
        /// The error of the tree.
        errno: Errno,
    },
    /// The host refused an operation on the directory of a layer.
    #[error("cannot {action} \"{}\": {error}", path.display())]
    Host {
        /// The operation.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the host.
        #[source]
        error: io::Error,
    },
    /// A file of a layer without its data, which is in the base.
    #[error("\"{}\" has no data in the layer: mount overlayfs with metacopy=off", .0.escape_ascii())]
    Metacopy(Box<[u8]>),
    /// A directory that has no layer.
    #[error("\"{}\" has no layer of overlayfs: it was not made by this program, or it is damaged", .0.display())]
    NoLayer(PathBuf),
    /// A file system that overlayfs does not take.
    #[error(
        "overlayfs cannot be mounted with its layer in \"{}\": {error}; put it on ext4, XFS, Btrfs or a tmpfs",
        path.display()
    )]
    Refused {
        /// The directory of the layer.
        path: PathBuf,
        /// The error of the kernel.
        #[source]
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn tree(action: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Error + use<> {
        let path = path.into();
        move |errno| Error::Tree { action, path, errno }
    }

    pub(crate) fn host<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error + use<E> {
        let path = path.to_owned();
        move |error| Error::Host { action, path, error: error.into() }
    }
}
