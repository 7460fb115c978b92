//! A face that calls the context itself. Where there is neither a starting point nor a flag, it
//! uses the plain operation and the one for many paths in turns.

use pathwalk::{Access, At, AtFlags, Attributes, Context, Errno, Handle};

use super::Face;

pub(super) struct Plain {
    context: Context,
    /// The number of plain operations so far.
    asked: u64,
}

impl Plain {
    pub(super) fn new(context: Context) -> Plain {
        Plain { context, asked: 0 }
    }

    /// Returns whether this operation is to be one of many. Then its path is given twice, so that
    /// the engine reads ahead, and one result is taken.
    fn is_one_of_many(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(2)
    }
}

/// Returns the first of two results; the second is not looked up.
fn first<T>(mut results: impl Iterator<Item = T>) -> T {
    results.next().expect("there are as many results as paths")
}

impl Face for Plain {
    fn context(&self) -> &Context {
        &self.context
    }

    fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        if matches!(at, At::Cwd) && flags.is_empty() {
            let many = self.is_one_of_many();
            return if many { first(self.context.lookup_many(&[path; 2])) } else { self.context.lookup(path) };
        }
        self.context.lookup_at(at, path, flags)
    }

    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        match at {
            At::Cwd if flags.is_empty() && self.is_one_of_many() => first(self.context.stat_many(&[path; 2])),
            At::Cwd if flags.is_empty() => self.context.stat(path),
            At::Cwd if flags == AtFlags::SYMLINK_NOFOLLOW => self.context.lstat(path),
            _ => self.context.fstatat(at, path, flags),
        }
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        if matches!(at, At::Cwd) && flags.is_empty() {
            let many = self.is_one_of_many();
            return if many { first(self.context.access_many(&[path; 2], want)) } else { self.context.access(path, want) };
        }
        self.context.faccessat(at, path, want, flags)
    }
}
