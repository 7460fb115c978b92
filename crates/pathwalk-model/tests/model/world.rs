//! A small tree for the tests.

use pathwalk_model::{AT_FDCWD, Access, AtFlags, Credentials, Errno, Model, OpenFlags, Options, Process, RenameFlags, Result};

/// The working directory, for relative paths; absolute ones ignore it.
pub(crate) const AT: i32 = AT_FDCWD;
pub(crate) const NOTHING: AtFlags = AtFlags::empty();

/// A model with a process of root.
pub(crate) struct World {
    pub(crate) model: Model,
    pub(crate) root: Process,
}

impl World {
    /// Creates a world with `d/`, `d/sub/`, an empty file `f`, and links `link` to `f`, `to_d` to
    /// `d`, `dangling` to `target`; writable by all users.
    pub(crate) fn new() -> World {
        World::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> World {
        let model = Model::new(options);
        let mut root = model.process(Credentials::root());
        model.umask(&mut root, 0);
        let mut world = World { model, root };
        world.directory("d", 0o777);
        world.directory("d/sub", 0o777);
        world.file("f", 0o666);
        world.symlink("f", "link");
        world.symlink("d", "to_d");
        world.symlink("target", "dangling");
        world
    }

    pub(crate) fn directory(&mut self, path: &str, mode: u32) {
        self.model.mkdir(&mut self.root, AT, path.as_bytes(), 0o777).unwrap();
        self.chmod(path, mode);
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32) {
        self.model.mknod(&mut self.root, AT, path.as_bytes(), libc::S_IFREG, 0).unwrap();
        self.chmod(path, mode);
    }

    pub(crate) fn symlink(&mut self, target: &str, path: &str) {
        self.model.symlink(&mut self.root, target.as_bytes(), AT, path.as_bytes()).unwrap();
    }

    pub(crate) fn chmod(&mut self, path: &str, mode: u32) {
        self.model.chmod(&mut self.root, AT, path.as_bytes(), mode, NOTHING).unwrap();
    }

    pub(crate) fn chown(&mut self, path: &str, uid: u32, gid: u32) {
        self.model.chown(&mut self.root, AT, path.as_bytes(), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }

    pub(crate) fn mode(&mut self, path: &str) -> u32 {
        self.model.stat(&mut self.root, AT, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).unwrap().mode & 0o7777
    }

    /// Creates a process of a user without capabilities.
    pub(crate) fn user(&self, uid: u32) -> Process {
        self.model.process(Credentials::user(uid, uid, &[]))
    }

    pub(crate) fn stat(&mut self, path: &str) -> Result<u32> {
        self.model.stat(&mut self.root, AT, path.as_bytes(), NOTHING).map(|status| status.mode)
    }

    /// Makes one call as root, written as in a shell; flags come before the path.
    pub(crate) fn run(&mut self, command: &str) -> Result<()> {
        let World { model, root } = self;
        run(model, root, command)
    }
}

/// Makes one call, written as in a shell.
pub(crate) fn run(model: &Model, process: &mut Process, command: &str) -> Result<()> {
    let words: Vec<&str> = command.split(' ').collect();
    let path = |number: usize| words[number].as_bytes();
    match words[0] {
        "open" => open(model, process, words[1], path(2)),
        "mkdir" => model.mkdir(process, AT, path(1), 0o777),
        "mknod" => model.mknod(process, AT, path(1), libc::S_IFREG | 0o666, 0),
        "symlink" => model.symlink(process, path(1), AT, path(2)),
        "link" => model.link(process, AT, path(1), AT, path(2), NOTHING),
        "unlink" => model.unlink(process, AT, path(1)),
        "rmdir" => model.rmdir(process, AT, path(1)),
        "rename" => model.rename(process, AT, path(1), AT, path(2), RenameFlags::empty()),
        "noreplace" => model.rename(process, AT, path(1), AT, path(2), RenameFlags::NOREPLACE),
        "exchange" => model.rename(process, AT, path(1), AT, path(2), RenameFlags::EXCHANGE),
        "stat" => model.stat(process, AT, path(1), NOTHING).map(|_| ()),
        "lstat" => model.stat(process, AT, path(1), AtFlags::SYMLINK_NOFOLLOW).map(|_| ()),
        "readlink" => model.readlink(process, AT, path(1), 4096).map(|_| ()),
        "chdir" => model.chdir(process, path(1)),
        "chroot" => model.chroot(process, path(1)),
        "read" => model.access(process, AT, path(1), Access::READ, AtFlags::EACCESS),
        "write" => model.access(process, AT, path(1), Access::WRITE, AtFlags::EACCESS),
        "execute" => model.access(process, AT, path(1), Access::EXECUTE, AtFlags::EACCESS),
        "read+execute" => model.access(process, AT, path(1), Access::READ | Access::EXECUTE, AtFlags::EACCESS),
        other => panic!("no such call: {other}"),
    }
}

/// Opens and closes a file.
fn open(model: &Model, process: &mut Process, flags: &str, path: &[u8]) -> Result<()> {
    let flags = flags.split('|').map(|name| OpenFlags::from_name(name).unwrap_or_else(|| named(name))).collect();
    let descriptor = model.open(process, AT, path, flags, 0o666)?;
    model.close(process, descriptor)
}

fn named(name: &str) -> OpenFlags {
    match name {
        "RDONLY" => OpenFlags::empty(),
        "TMPFILE" => OpenFlags::TMPFILE,
        other => panic!("no such flag: {other}"),
    }
}

/// Runs each command in a new world.
pub(crate) fn each_alone(rows: &[(&str, Result<()>)]) {
    for &(command, expected) in rows {
        assert_eq!(World::new().run(command), expected, "{command}");
    }
}

pub(crate) const OK: Result<()> = Ok(());

pub(crate) fn fails(errno: Errno) -> Result<()> {
    Err(errno)
}
