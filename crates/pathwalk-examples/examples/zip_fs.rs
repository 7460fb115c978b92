//! A zip archive as a file system, with the crate `zip`: its files can be found, listed and read.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example zip_fs [ARCHIVE.zip]
//! ```
//!
//! It has `root`, `lookup` and `attributes`, which every file system has, and `open`, which makes
//! files readable and directories listable. An open file is its inflated contents; a directory is a
//! listing of the index. It is read-only, and says so with `superblock_flags`, so the engine
//! refuses all changes. Paths of the archive that lead out of it are left out. It has no times, and
//! links of the archive are regular files.
//!
//! The same program with another crate:
//!
//! - 99 lines in `counterparts/zip_vfs.rs`, with `vfs`: each call gets a whole path and looks it up
//!   anew. It has no permissions, no links, and no errors that tell "absent" from "no directory".

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use pathwalk::{
    Attributes, Credentials, Directory, Entry, Errno, FIRST_COOKIE, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFor,
    SuperblockFlags, Vfs,
};
use zip::ZipArchive;

/// A node: its attributes, where the archive has it, and what it contains if it is a directory.
struct Item {
    attributes: Attributes,
    at: Option<usize>,
    names: BTreeMap<Vec<u8>, usize>,
}

/// The file system. A node's key is its place in the index; the root is the first.
struct ZipFs<R> {
    archive: Mutex<ZipArchive<R>>,
    items: Arc<Vec<Item>>,
}

impl<R: Read + Seek> ZipFs<R> {
    fn new(reader: R) -> zip::result::ZipResult<ZipFs<R>> {
        let mut archive = ZipArchive::new(reader)?;
        let mut items = vec![item(FileType::Directory, 0o555, 0)];
        for at in 0..archive.len() {
            let file = archive.by_index(at)?;
            let Some(path) = file.enclosed_name() else { continue };
            let mut dir = 0;
            for name in &path {
                let next = items.len();
                dir = *items[dir].names.entry(name.as_encoded_bytes().into()).or_insert(next);
                if dir == next {
                    items.push(item(FileType::Directory, 0o555, next));
                }
            }
            if !file.is_dir() && dir != 0 && items[dir].names.is_empty() {
                items[dir] = item(FileType::Regular, file.unix_mode().unwrap_or(0o444) as u16 & 0o555, dir);
                items[dir].attributes.size = file.size();
                items[dir].at = Some(at);
            }
        }
        Ok(ZipFs { archive: Mutex::new(archive), items: Arc::new(items) })
    }

    fn node(&self, place: usize) -> Node {
        Node::new(NodeKey(place as u128), self.items[place].attributes)
    }
}

fn item(kind: FileType, mode: u16, place: usize) -> Item {
    let attributes = Attributes::new(kind, mode).with_ino(place as u64 + 1);
    Item { attributes, at: None, names: BTreeMap::new() }
}

impl<R: Read + Seek + Send> FileSystem for ZipFs<R> {
    fn root(&self) -> Result<Node, Errno> {
        Ok(self.node(0))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(self.items[dir.key().0 as usize].names.get(name.bytes()).map(|place| self.node(*place)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(self.items[node.0 as usize].attributes)
    }

    fn open(&self, node: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        let (place, mut contents) = (node.0 as usize, Vec::new());
        if let Some(at) = self.items[place].at {
            let mut archive = self.archive.lock().map_err(|_| Errno::EIO)?;
            archive.by_index(at).map_err(|_| Errno::EIO)?.read_to_end(&mut contents).map_err(|_| Errno::EIO)?;
        }
        Ok(Box::new(Open { items: self.items.clone(), place, contents }))
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        SuperblockFlags::READ_ONLY
    }
}

/// An open file or directory.
struct Open {
    items: Arc<Vec<Item>>,
    place: usize,
    contents: Vec<u8>,
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let from = offset.min(self.contents.len() as u64) as usize;
        (&self.contents[from..]).read(buffer).map_err(|_| Errno::EIO)
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        for ((name, place), cookie) in self.items[self.place].names.iter().zip(FIRST_COOKIE..) {
            let Attributes { kind, ino, .. } = self.items[*place].attributes;
            if cookie > from && each(Entry { name, key: NodeKey(*place as u128), ino, kind, cookie }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for path in ["docs/readme.txt", "docs/api/index.html", "../outside"] {
        zip.start_file(path, zip::write::SimpleFileOptions::default())?;
        zip.write_all(path.repeat(1000).as_bytes())?;
    }
    let bytes = std::env::args_os().nth(1).map_or_else(|| Ok(zip.finish()?.into_inner()), std::fs::read)?;
    let context = Vfs::builder().build(ZipFs::new(Cursor::new(bytes))?)?.context(Credentials::user(1000, 1000, &[]));
    for entry in context.walk("/")? {
        println!("{}", entry?.path().display());
    }
    if std::env::args_os().len() == 1 {
        assert_eq!(context.read_to_string("/docs/api/../readme.txt")?, "docs/readme.txt".repeat(1000));
        assert_eq!(context.read_dir("/")?.count(), 1, "what leads out is left out");
        assert_eq!(context.write("/docs/new", "").unwrap_err().errno(), Errno::EROFS);
        assert_eq!(context.read("/docs/readme.txt/x").unwrap_err().errno(), Errno::ENOTDIR);
    }
    Ok(())
}
