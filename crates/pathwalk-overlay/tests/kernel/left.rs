//! New files of a layer, to which a commit gives names in the base.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use pathwalk::{Credentials, Vfs};
use pathwalk_branch::Branches;
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_overlay::Taking;
use rustix::fs::{XattrFlags, setxattr};

use super::world::{World, as_root, context};

/// The files that a layer has, with whether they are moved.
const FILES: [(&str, bool); 8] = [
    ("plain", true),
    ("new/deep/executable", true),
    ("old/new", true),
    ("old/copied", false),
    ("attributed", false),
    ("linked", false),
    ("written later", false),
    ("still open", false),
];

fn fill(at: &Path) {
    fs::create_dir_all(at.join("new/deep")).unwrap();
    FILES.iter().for_each(|(name, _)| fs::write(at.join(name), format!("data of {name}")).unwrap());
    fs::set_permissions(at.join("new/deep/executable"), fs::Permissions::from_mode(0o755)).unwrap();
    setxattr(at.join("attributed"), "user.name", b"value", XattrFlags::empty()).unwrap();
    fs::hard_link(at.join("linked"), at.join("old/linked")).unwrap();
}

#[test]
fn new_files_are_moved_into_the_base() {
    as_root(|| {
        let mut world = World::new();
        let base = world.base();
        fs::create_dir(base.join("old")).unwrap();
        fs::write(base.join("old/copied"), "before").unwrap();
        let mounted = world.mount();
        fill(&mounted.at);
        let layer = mounted.unmount();
        let (upper, aside) = (base.with_file_name("layer 1/upper"), base.with_file_name("aside"));
        let number = |dir: &Path, name: &str| dir.join(name).metadata().unwrap().ino();
        let numbers = FILES.map(|(name, _)| number(&upper, name));
        // Another process may have got it from the command.
        let open = OpenOptions::new().write(true).open(upper.join("still open")).unwrap();

        let fs = HostFs::open_writable(&base).unwrap().with_coherence(Coherence::Exclusive);
        let branches = Branches::new(Vfs::builder().build(fs).unwrap().context(Credentials::root())).unwrap();
        let branch = branches.fork(None, "work").unwrap();
        let work = context(branch.clone());
        let left = Taking::of(&layer, branches.base(), &work).unwrap().with(branch).take().unwrap();
        layer.rename(&aside).unwrap();
        branches.use_up(Arc::new(left.open(&aside, &base).unwrap()));
        fs::write(aside.join("upper/written later"), "data of another").unwrap();
        branches.commit("work").unwrap();

        for ((name, is_moved), number_before) in FILES.into_iter().zip(numbers) {
            assert_eq!(fs::read_to_string(base.join(name)).unwrap(), format!("data of {name}"));
            assert_eq!(number(&base, name) == number_before, is_moved, "{name}");
            assert_eq!(aside.join("upper").join(name).exists(), !is_moved, "{name}");
        }
        let executable = base.join("new/deep/executable").metadata().unwrap();
        assert_eq!((executable.mode() & 0o7777, executable.nlink()), (0o755, 1));
        assert_eq!(base.join("linked").metadata().unwrap().nlink(), 2);
        drop(open);
    });
}
