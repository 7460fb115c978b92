//! The directory of a layer: what overlayfs writes to, and what is known of it.
//!
//! What always holds: a layer that is whole has a file which says when and in which form it was
//! begun, and since which start of the kernel. So another process can take it after a crash.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use pathwalk::{Context, Credentials, Timestamp, Vfs};
use pathwalk_hostfs::{Coherence, HostFs, SyncAtEnd};
use rustix::fs::{FlockOperation, flock};

use crate::error::Error;
use crate::form::Form;
use crate::plan::View;
use crate::settings::{Settings, Target, Times};
use crate::start::Begun;

/// The names in the directory of a layer.
pub(crate) const UPPER: &str = "upper";
pub(crate) const WORK: &str = "work";
pub(crate) const INDEX: &str = "index";
const ABOUT: &str = "layer";

/// An upper layer of overlayfs, in a directory of its own.
///
/// ```
/// use pathwalk_overlay::{Layer, Suited};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (base, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// let layer = Layer::create(&store.path().join("layer"), base.path())?;
/// // In a mount namespace, a mount is attached to nothing until it is moved to a directory.
/// match layer.mount(base.path()) {
///     Ok(mount) => match layer.suited(base.path(), &mount)? {
///         Suited::Yes => println!("as a plain directory"),
///         Suited::No(limits) => limits.iter().for_each(|limit| println!("{limit}")),
///     },
///     Err(error) => println!("{error}"),
/// }
/// layer.remove()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Layer {
    pub(crate) dir: PathBuf,
    form: Form,
    start: Timestamp,
    /// The kernel's number of the boot in which it was begun.
    boot: String,
    /// The lock of the process that has made it.
    _lock: Option<OwnedFd>,
}

impl Layer {
    /// Makes an empty layer in a new directory, for a directory as the base. Its root gets what the
    /// base's root has. Changes of the base count once it returns, or before. Takes some
    /// milliseconds.
    pub fn create(dir: &Path, base: &Path) -> Result<Layer, Error> {
        let begun = Begun::now();
        fs::create_dir(dir).map_err(Error::host("make", dir))?;
        let lock = Some(lock(dir).map_err(Error::host("lock", dir))?);
        for made in [&dir.join(UPPER), &dir.join(WORK)] {
            fs::create_dir(made).map_err(Error::host("make", made))?;
        }
        let form = Form::of_this_process();
        let (from, to) = (tree(base, Writes::No)?, tree(&dir.join(UPPER), Writes::Yes)?);
        let copy = || {
            let (wanted, times) = (Settings::of(&from, from.root())?, Times::of(&from.root().attributes()?));
            wanted.give(times, &to, (to.root(), Target::New))
        };
        copy().map_err(Error::tree("copy the attributes of", b"/"))?;
        let layer = Layer { dir: dir.to_owned(), form, start: begun.tick(), boot: this_boot(), _lock: lock };
        let about = dir.join(ABOUT);
        fs::write(&about, layer.about()).map_err(Error::host("write", &about))?;
        Ok(layer)
    }

    /// Opens a layer that was made before.
    pub fn open(dir: &Path) -> Result<Layer, Error> {
        let about = dir.join(ABOUT);
        let text = match fs::read_to_string(&about) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && dir.is_dir() => {
                return Err(Error::NoLayer(dir.to_owned()));
            }
            text => text.map_err(Error::host("read", &about))?,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let start = |seconds: &str, nanoseconds: &str| {
            Some(Timestamp { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? })
        };
        let found = match words[..] {
            ["trusted", seconds, nanoseconds, boot] => Some((Form::Trusted, boot)).zip(start(seconds, nanoseconds)),
            ["user", seconds, nanoseconds, boot] => Some((Form::User, boot)).zip(start(seconds, nanoseconds)),
            _ => None,
        };
        let ((form, boot), start) = found.ok_or_else(|| Error::NoLayer(dir.to_owned()))?;
        Ok(Layer { dir: dir.to_owned(), form, start, boot: boot.to_owned(), _lock: None })
    }

    /// Returns the namespace of attributes in which overlayfs keeps its notes.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the time from which changes of the base count.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Returns whether the kernel has not been started anew since the layer was begun. Else a file
    /// of the layer may lack its last writes, also those before an `fsync(2)`: the mount synced
    /// nothing.
    ///
    /// ```
    /// use pathwalk_overlay::Layer;
    /// # let (base, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// let dir = store.path().join("layer");
    /// Layer::create(&dir, base.path())?;
    /// assert!(Layer::open(&dir)?.is_of_this_boot());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == this_boot()
    }

    /// Removes the layer, with all that is in it.
    pub fn remove(self) -> Result<(), Error> {
        Layer::remove_left(&self.dir)
    }

    /// Gives the directory of the layer another path in the same file system.
    ///
    /// ```
    /// use pathwalk_overlay::Layer;
    /// # let (base, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// let layer = Layer::create(&store.path().join("layer"), base.path())?;
    /// // It is taken, and removed when there is time.
    /// let taken = store.path().join("taken");
    /// layer.rename(&taken)?;
    /// assert!(Layer::open(&store.path().join("layer")).is_err());
    /// Layer::remove_left(&taken)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename(&self, to: &Path) -> Result<(), Error> {
        fs::rename(&self.dir, to).map_err(Error::host("rename", &self.dir))
    }

    /// Does the same, and returns the layer at its new path.
    pub fn renamed(self, to: &Path) -> Result<Layer, Error> {
        self.rename(to)?;
        Ok(Layer { dir: to.to_owned(), ..self })
    }

    /// Returns whether the process that has made a layer still has it: an instant after its
    /// directory is there, until the process ends or drops it.
    ///
    /// ```
    /// use pathwalk_overlay::Layer;
    /// # let (base, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// let dir = store.path().join("layer");
    /// let layer = Layer::create(&dir, base.path())?;
    /// assert!(Layer::is_in_use(&dir));
    /// drop(layer);
    /// assert!(!Layer::is_in_use(&dir));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in_use(dir: &Path) -> bool {
        matches!(lock(dir), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns the directory of the layer.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes the directory of a layer, of which a part may be gone.
    ///
    /// [`rename`](Self::rename) has an example.
    pub fn remove_left(dir: &Path) -> Result<(), Error> {
        let removed = match fs::remove_dir_all(dir) {
            // Some directories are without rights: two of the kernel's, and what a command made so.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => allow(dir).and_then(|()| fs::remove_dir_all(dir)),
            removed => removed,
        };
        removed.map_err(Error::host("remove", dir))
    }

    fn about(&self) -> String {
        let form = match self.form {
            Form::Trusted => "trusted",
            Form::User => "user",
        };
        format!("{form} {} {} {}\n", self.start.seconds, self.start.nanoseconds, self.boot)
    }

    /// Returns the layer with its base and a branch.
    pub(crate) fn view(&self, base: &Context, branch: &Context) -> Result<View, Error> {
        let (upper, index) = (self.dir.join(UPPER), self.dir.join(WORK).join(INDEX));
        let index = match index.symlink_metadata() {
            Ok(_) => Some(index),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::host("open", &index)(error)),
        };
        Ok(View {
            form: self.form,
            start: self.start,
            upper,
            index,
            base: base.clone(),
            branch: branch.clone(),
            itself: None,
            files: None,
        })
    }
}

/// Returns what tells this start of the kernel from others. Source: `proc_sys_kernel(5)`.
fn this_boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // A word, where there is none.
    if text.trim().is_empty() { "-".to_owned() } else { text.trim().to_owned() }
}

/// Locks a directory, unless another process has locked it.
fn lock(dir: &Path) -> io::Result<OwnedFd> {
    let opened = OwnedFd::from(fs::File::open(dir)?);
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Gives the owner all rights to a directory, and to those below it.
fn allow(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// The bytes of the caches of a tree of which one node is read or written.
const BUDGET: u64 = 1 << 20;

/// Whether a tree is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    Yes,
    No,
}

/// Returns a context on a directory that nothing else changes, with all rights of this process.
///
/// What is written is not synced: after a loss of power, a layer without its file about it is none.
fn tree(dir: &Path, writes: Writes) -> Result<Context, Error> {
    let opened = if writes == Writes::Yes { HostFs::open_writable(dir) } else { HostFs::open(dir) };
    let fs = opened.map_err(|error| Error::host("open", dir)(io::Error::other(error)))?;
    let coherence = if writes == Writes::Yes { Coherence::Exclusive } else { Coherence::Frozen };
    let built = Vfs::builder().budget(BUDGET).build(fs.with_coherence(coherence).with_sync_at_end(SyncAtEnd::Never));
    Ok(built.map_err(|error| Error::host("open", dir)(io::Error::other(error)))?.context(Credentials::root()))
}
