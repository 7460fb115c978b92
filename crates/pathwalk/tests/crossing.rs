//! Walks from mount to mount. If all directories are cached, they are fast walks all the way.

use pathwalk::{Access, Context, Credentials, Errno, MountFlags, Recursion, Resolve, Vfs};
use pathwalk_memfs::MemFs;

/// Creates a file system with these names. Directories end in a slash.
fn tree(names: &[&str]) -> MemFs {
    let fs = MemFs::new();
    for name in names {
        match name.strip_suffix('/') {
            Some(dir) => fs.mkdir(dir, 0o755),
            None => fs.file(name, 0o644),
        }
        .unwrap();
    }
    fs
}

/// Walks until all is cached, and then once more. The last walk is not handed over.
fn stays_fast(context: &Context, path: &str, expected: Result<(), Errno>) {
    for _ in 0..2 {
        assert_eq!(context.access(path, Access::empty()), expected, "{path}");
    }
    let before = context.vfs().stats().hand_overs;
    assert_eq!(context.access(path, Access::empty()), expected, "{path}");
    assert_eq!(context.vfs().stats().hand_overs, before, "{path} was handed over");
}

#[test]
fn down_and_up_again() {
    let names = ["/d/", "/d/below", "/e/", "/e/f", "/bound/"];
    let context = Vfs::builder().budget(1 << 20).build(tree(&names)).unwrap().context(Credentials::root());
    let mut apart = context.clone();
    apart.unshare().unwrap();
    let mount = |names: &[&str], path: &str| context.mount(tree(names), path, MountFlags::empty()).unwrap();
    // Two mounts on one place, and one in the upper.
    mount(&["/lower"], "/d");
    mount(&["/upper", "/n/"], "/d");
    mount(&["/inner", "/m/"], "/d/n");
    context.bind("/e", "/bound", Recursion::Alone).unwrap();
    let beneath = context.clone().with_resolve(Resolve::BENEATH).unwrap();
    let within = context.clone().with_resolve(Resolve::NO_XDEV).unwrap();
    for (path, expected) in [
        ("/d/upper", Ok(())),
        ("/d/lower", Err(Errno::ENOENT)),
        ("/d/n/inner", Ok(())),
        ("/d/n", Ok(())),
        ("/d/n/m/../inner", Ok(())),
        ("/d/n/m/../../upper", Ok(())),
        ("/d/n/../../d/n/inner", Ok(())),
        ("/d/../d/upper", Ok(())),
        ("/d/n/../../e/f", Ok(())),
        ("/bound/f", Ok(())),
        ("/bound/../e/f", Ok(())),
    ] {
        stays_fast(&context, path, expected);
        stays_fast(&beneath, &path[1..], expected);
    }
    stays_fast(&within, "/e/f", Ok(()));
    stays_fast(&within, "/d/upper", Err(Errno::EXDEV));
    stays_fast(&within, "/d/../e/f", Err(Errno::EXDEV));
    // A place that is covered in another namespace.
    stays_fast(&apart, "/d/below", Ok(()));
    stays_fast(&apart, "/d/../d/below", Ok(()));
}
