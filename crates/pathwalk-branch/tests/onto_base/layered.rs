//! Commits onto a directory on overlayfs, as the root of a container is.
//!
//! There a file of the lower layer is copied to the upper one with its first change. It keeps its
//! number, and gets another time of birth.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use pathwalk::{Context, Errno, FileType, OpenFlags};
use pathwalk_branch::{Branches, DiskStore, Error, Options};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::mounts::new_overlay;
use pathwalk_tests::skipped;
use tempfile::TempDir;

use crate::common::root_on;
use crate::common::trees::{Node, Rest, differences, look, look_closely};
use crate::{fill, work};

/// The options with which directories of the lower layer can be renamed, and files there keep all
/// their names.
const WHOLE: [(&str, &str); 2] = [("redirect_dir", "on"), ("index", "on")];

/// The options that containers have.
const USUAL: [(&str, &str); 2] = [("redirect_dir", "off"), ("index", "off")];

/// A mount of overlayfs, of which all files are in the lower layer, and a store.
struct Layers {
    _dir: TempDir,
    store: TempDir,
    mount: OwnedFd,
}

impl Layers {
    /// Returns `None`, and says so, where this process may not mount overlayfs.
    fn new(options: &[(&str, &str)]) -> Option<Layers> {
        let (dir, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let layers = ["lower", "upper", "work"].map(|name| dir.path().join(name));
        layers.iter().for_each(|layer| fs::create_dir(layer).unwrap());
        fill(&context(&layers[0], Coherence::Exclusive));
        match new_overlay([&layers[0], &layers[1], &layers[2]], options) {
            Ok(mount) => Some(Layers { _dir: dir, store, mount }),
            Err(error) => {
                skipped("commits onto overlayfs", &format!("it cannot be mounted: {error}"));
                None
            }
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        format!("/proc/self/fd/{}/{name}", self.mount.as_raw_fd()).into()
    }

    fn base(&self) -> Context {
        context(&self.path("."), Coherence::Watch)
    }

    fn branches(&self, base: &Context) -> Branches {
        let store = DiskStore::open(self.store.path()).unwrap();
        Branches::open(base.clone(), Options::default(), store).unwrap()
    }
}

fn context(directory: &Path, coherence: Coherence) -> Context {
    let host = HostFs::open_writable(directory).unwrap().with_coherence(coherence);
    root_on(host)
}

fn on(branches: &Branches, name: &str) -> Context {
    let branch = branches.get(name).or_else(|_| branches.fork(None, name)).unwrap();
    root_on(branch)
}

/// Looks at all, but for the numbers of links of directories: overlayfs does not count them where
/// a layer is below.
fn look_closely_but_for_directories(context: &Context) -> BTreeMap<Vec<u8>, (Node, Rest)> {
    let mut all = look_closely(context);
    let directories = all.values_mut().filter(|(node, _)| node.kind == FileType::Directory);
    directories.for_each(|(_, rest)| rest.links = 1);
    all
}

#[test]
fn all_is_committed_where_overlayfs_can_do_it() {
    let Some(layers) = Layers::new(&WHOLE) else { return };
    let (base, expected) = (layers.base(), {
        let base = layers.base();
        let branches = layers.branches(&base);
        let context = on(&branches, "work");
        work(&context);
        branches.sync().unwrap();
        look_closely_but_for_directories(&context)
    });
    // The branch was loaded, and finds the files of the base again.
    let branches = layers.branches(&base);
    branches.commit("work").unwrap();
    let found = look_closely_but_for_directories(&base);
    assert!(found == expected, "{}", differences(&found, &expected));
    assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
}

#[test]
fn changes_of_files_are_committed_again_and_again() {
    let Some(layers) = Layers::new(&USUAL) else { return };
    for round in 0..3 {
        let expected = {
            let (base, text) = (layers.base(), format!("round {round}"));
            let branches = layers.branches(&base);
            let context = on(&branches, "work");
            let open = context.open("/large", OpenFlags::READ | OpenFlags::WRITE).unwrap();
            open.write_at(text.as_bytes(), 150_000 + round * 50_000).unwrap();
            context.chmod("/b", 0o600 + round as u16).unwrap();
            context.write("/moved/in/file", &text).unwrap();
            match round {
                0 => context.rename("/d/sub/file", "/d/renamed").unwrap(),
                1 => context.remove_file("/d/renamed").unwrap(),
                _ => context.write("/d/renamed", "again").unwrap(),
            }
            context.write("/d/.new", &text).unwrap();
            context.rename("/d/.new", "/one/x").unwrap();
            context.mkdir(format!("/two/{round}"), 0o700).unwrap();
            context.write(format!("/two/{round}/file"), "new").unwrap();
            branches.sync().unwrap();
            look(&context)
        };
        let base = layers.base();
        layers.branches(&base).commit("work").unwrap();
        let found = look(&base);
        assert!(found == expected, "round {round}: {}", differences(&found, &expected));
    }
}

#[test]
fn a_file_that_another_program_changes_is_still_known() {
    let Some(layers) = Layers::new(&USUAL) else { return };
    {
        let base = layers.base();
        let branches = layers.branches(&base);
        on(&branches, "work").chmod("/b", 0o600).unwrap();
        branches.sync().unwrap();
    }
    fs::write(layers.path("b"), "from outside").unwrap();
    let base = layers.base();
    let branches = layers.branches(&base);
    assert_eq!(on(&branches, "work").stat("/b").unwrap().mode, 0o600);
    let diff = branches.diff("work").unwrap();
    assert_eq!(diff.len(), 1, "{diff:?}");
    branches.commit("work").unwrap();
    assert_eq!((base.read("/b").unwrap(), base.stat("/b").unwrap().mode), (b"from outside".to_vec(), 0o600));
}

/// Does what the kernel refuses in a lower layer, and returns the error of the commit.
fn refused(change: impl Fn(&Context)) -> Option<Errno> {
    let layers = Layers::new(&USUAL)?;
    let base = layers.base();
    let branches = layers.branches(&base);
    let before = look(&base);
    let context = on(&branches, "work");
    context.write("/d/file", "changed").unwrap();
    change(&context);
    let refused = branches.commit("work");
    let found = look(&base);
    assert!(found == before, "{}", differences(&found, &before));
    assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
    match refused {
        Err(Error::NotCommitted { errno, .. }) => Some(errno),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_overlayfs_cannot_do_is_refused_and_leaves_the_base_as_it_was() {
    let rename = refused(|context| context.rename("/moved", "/elsewhere").unwrap());
    let remove = refused(|context| context.remove_dir_all("/one").unwrap());
    let part = refused(|context| context.write("/a", "in both of its names").unwrap());
    if let [Some(rename), Some(remove), Some(part)] = [rename, remove, part] {
        assert_eq!([rename, remove, part], [Errno::EXDEV, Errno::EXDEV, Errno::ESTALE]);
    }
}
