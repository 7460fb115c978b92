//! `examples/zip_fs.rs` with `vfs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{Cursor, Read, Seek, Write};
use std::sync::Mutex;

use vfs::error::VfsErrorKind;
use vfs::{FileSystem, SeekAndRead, SeekAndWrite, VfsFileType, VfsMetadata, VfsPath, VfsResult};
use zip::ZipArchive;

/// A node: where the archive has it, its size, and what it contains if it is a directory.
#[derive(Default)]
struct Item {
    at: Option<usize>,
    size: u64,
    names: BTreeSet<String>,
}

/// The file system. Its nodes are found by their whole paths.
struct ZipFs<R> {
    archive: Mutex<ZipArchive<R>>,
    items: BTreeMap<String, Item>,
}

impl<R: Read + Seek> ZipFs<R> {
    fn new(reader: R) -> zip::result::ZipResult<ZipFs<R>> {
        let mut archive = ZipArchive::new(reader)?;
        let mut items = BTreeMap::from([(String::new(), Item::default())]);
        for at in 0..archive.len() {
            let file = archive.by_index(at)?;
            let Some(path) = file.enclosed_name() else { continue };
            let mut place = String::new();
            for name in path.iter().filter_map(|name| name.to_str()) {
                items.entry(place.clone()).or_default().names.insert(name.into());
                place = format!("{place}/{name}");
                items.entry(place.clone()).or_default();
            }
            if let Some(item) = items.get_mut(&place).filter(|item| !file.is_dir() && item.names.is_empty()) {
                (item.at, item.size) = (Some(at), file.size());
            }
        }
        Ok(ZipFs { archive: Mutex::new(archive), items })
    }

    fn item(&self, path: &str) -> VfsResult<&Item> {
        Ok(self.items.get(path).ok_or(VfsErrorKind::FileNotFound)?)
    }
}

impl<R> fmt::Debug for ZipFs<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ZipFs")
    }
}

impl<R: Read + Seek + Send + 'static> FileSystem for ZipFs<R> {
    fn read_dir(&self, path: &str) -> VfsResult<Box<dyn Iterator<Item = String> + Send>> {
        Ok(Box::new(self.item(path)?.names.clone().into_iter()))
    }

    fn open_file(&self, path: &str) -> VfsResult<Box<dyn SeekAndRead + Send>> {
        let at = self.item(path)?.at.ok_or(VfsErrorKind::Other("a directory".into()))?;
        let mut archive = self.archive.lock().map_err(|_| VfsErrorKind::Other("poisoned".into()))?;
        let mut contents = Vec::new();
        archive.by_index(at).map_err(|error| VfsErrorKind::Other(error.to_string()))?.read_to_end(&mut contents)?;
        Ok(Box::new(Cursor::new(contents)))
    }

    fn metadata(&self, path: &str) -> VfsResult<VfsMetadata> {
        let item = self.item(path)?;
        let file_type = if item.at.is_some() { VfsFileType::File } else { VfsFileType::Directory };
        Ok(VfsMetadata { file_type, len: item.size, created: None, modified: None, accessed: None })
    }

    fn exists(&self, path: &str) -> VfsResult<bool> {
        Ok(self.items.contains_key(path))
    }

    fn create_dir(&self, _: &str) -> VfsResult<()> {
        Err(VfsErrorKind::NotSupported.into())
    }

    fn create_file(&self, _: &str) -> VfsResult<Box<dyn SeekAndWrite + Send>> {
        Err(VfsErrorKind::NotSupported.into())
    }

    fn append_file(&self, _: &str) -> VfsResult<Box<dyn SeekAndWrite + Send>> {
        Err(VfsErrorKind::NotSupported.into())
    }

    fn remove_file(&self, _: &str) -> VfsResult<()> {
        Err(VfsErrorKind::NotSupported.into())
    }

    fn remove_dir(&self, _: &str) -> VfsResult<()> {
        Err(VfsErrorKind::NotSupported.into())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for path in ["docs/readme.txt", "docs/api/index.html", "../outside"] {
        zip.start_file(path, zip::write::SimpleFileOptions::default())?;
        zip.write_all(path.repeat(1000).as_bytes())?;
    }
    let bytes = std::env::args_os().nth(1).map_or_else(|| Ok(zip.finish()?.into_inner()), std::fs::read)?;
    let root = VfsPath::new(ZipFs::new(Cursor::new(bytes))?);
    for path in root.walk_dir()? {
        println!("{}", path?.as_str());
    }
    if std::env::args_os().len() == 1 {
        assert_eq!(root.join("docs/api/../readme.txt")?.read_to_string()?, "docs/readme.txt".repeat(1000));
        assert_eq!(root.read_dir()?.count(), 1, "what leads out is left out");
        assert!(root.join("docs/new")?.create_file().is_err());
        assert!(root.join("docs/readme.txt/x")?.open_file().is_err());
    }
    Ok(())
}
