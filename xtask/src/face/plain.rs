//! A context itself, by the plain operation where there is neither a starting point nor a flag.

use pathwalk::{Access, At, AtFlags, Attributes, Context, Errno, Handle};

use super::Face;

pub(super) struct Plain(pub(super) Context);

impl Face for Plain {
    fn context(&self) -> &Context {
        &self.0
    }

    fn context_mut(&mut self) -> &mut Context {
        &mut self.0
    }

    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        if matches!(at, At::Cwd) && flags.is_empty() {
            return self.0.lookup(path);
        }
        self.0.lookupat(at, path, flags)
    }

    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        match at {
            At::Cwd if flags.is_empty() => self.0.stat(path),
            At::Cwd if flags == AtFlags::SYMLINK_NOFOLLOW => self.0.lstat(path),
            _ => self.0.fstatat(at, path, flags),
        }
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        if matches!(at, At::Cwd) && flags.is_empty() {
            return self.0.access(path, want);
        }
        self.0.faccessat(at, path, want, flags)
    }
}
