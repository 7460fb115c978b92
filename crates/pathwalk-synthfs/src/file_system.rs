//! The file system itself: computes the answers to the engine.

use pathwalk::{
    Attributes, Directory, Errno, FileSystem, Name, NewNode, Node, NodeKey, OpenFile, OpenFor, StatFs, SuperblockFlags,
};

use crate::listing::Opened;
use crate::names::{self, DIRECTORY, FILE, THREAD};
use crate::{Delay, Place, Shape};

/// The `f_type` of a computed tree: "synt" in ASCII.
const KIND: u64 = 0x7379_6e74;

/// A computed tree. The crate's documentation describes its contents. Making one costs nothing.
///
/// All nodes belong to root. Directories have mode 0755, files have mode 0644 and no data.
///
/// ```
/// use std::time::Duration;
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_synthfs::{Delay, Shape, SynthFs};
/// let fs = SynthFs::new(Shape::new(1, 10, 10)?).with_delay(Delay::Sleep(Duration::from_millis(1)));
/// assert_eq!(fs.shape().files(), 100);
/// let context = Vfs::builder().build(fs)?.context(Credentials::root());
/// assert!(context.stat("/t0/d9/f9").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SynthFs {
    shape: Shape,
    delay: Delay,
}

impl SynthFs {
    /// Creates a tree of this shape, without delay.
    pub fn new(shape: Shape) -> SynthFs {
        SynthFs { shape, delay: Delay::None }
    }

    /// Returns the tree with this delay for every answer.
    #[must_use]
    pub fn with_delay(mut self, delay: Delay) -> SynthFs {
        self.delay = delay;
        self
    }

    /// Returns the shape of the tree.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the place of a key. Fails with `ESTALE` for a key that this tree has not handed out.
    fn place(&self, key: NodeKey) -> Result<Place, Errno> {
        self.shape.place(key).ok_or(Errno::ESTALE)
    }
}

impl FileSystem for SynthFs {
    fn root(&self) -> Result<Node, Errno> {
        Ok(self.shape.node(Place::Root))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.delay.pass();
        let name = name.bytes();
        let place = match self.place(dir.key())? {
            Place::Root => names::number(name, THREAD, self.shape.threads).map(Place::Thread),
            Place::Thread(of) => {
                names::number(name, DIRECTORY, self.shape.directories).map(|number| Place::Directory(of, number))
            }
            Place::Directory(of, dir) => names::number(name, FILE, self.shape.files).map(|number| Place::File(of, dir, number)),
            Place::File(..) => return Err(Errno::ENOTDIR),
        };
        Ok(place.map(|place| self.shape.node(place)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.delay.pass();
        Ok(self.shape.attributes(self.place(node)?))
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.delay.pass();
        if what_for.contains(OpenFor::WRITE) {
            return Err(Errno::EROFS);
        }
        Ok(Box::new(Opened { shape: self.shape, delay: self.delay, place: self.place(node)? }))
    }

    /// Opens a node if that takes no time. With a delay, fails with `EAGAIN`, because only a caller
    /// that may wait can open it.
    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        if self.delay == Delay::None { self.open(node, what_for) } else { Err(Errno::EAGAIN) }
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        SuperblockFlags::READ_ONLY
    }

    fn create_unnamed(&self, _dir: &Directory<'_>, _new: &NewNode<'_>) -> Result<Node, Errno> {
        Err(Errno::EROFS)
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        let mut stat = StatFs::default();
        stat.kind = KIND;
        stat.block_size = 4096;
        stat.files = self.shape.nodes();
        stat.name_max = 255;
        Ok(stat)
    }

    fn memory(&self) -> u64 {
        size_of::<SynthFs>() as u64
    }
}
