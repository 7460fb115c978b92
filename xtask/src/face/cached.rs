//! A face that calls the caches alone, and a context if they have no answer. After a context's
//! answer the caches must give the same answer or none.

use std::sync::Arc;

use pathwalk::{Access, At, AtFlags, Attributes, Cached, Context, Errno, File, Handle, OpenHow, Statx, StatxMask};

use super::tally::Knew;
use super::{Company, Face, Kind, at_odds};

pub(super) struct Caches {
    context: Context,
    company: Company,
}

impl Caches {
    pub(super) fn new(context: Context, company: Company) -> Caches {
        Caches { context, company }
    }

    /// Calls the caches, then the context, and then the caches again, unless other threads may have
    /// changed something.
    fn either<T>(
        &self,
        mut ask: impl FnMut(&Cached<'_>) -> Result<T, Errno>,
        plain: impl FnOnce(&Context) -> Result<T, Errno>,
        same: impl FnOnce(&T, &T) -> bool,
    ) -> Result<T, Errno> {
        match ask(&self.context.cached()) {
            Err(Errno::EAGAIN) => Kind::Cached.count(Knew::No),
            answer => {
                Kind::Cached.count(Knew::Yes);
                return answer;
            }
        }
        let answer = plain(&self.context);
        if self.company == Company::Others {
            return answer;
        }
        // A clone is another owner of locks: a file that is opened here and closed at once gives no
        // locks of the process back.
        let again = ask(&self.context.clone().cached());
        let knew = if matches!(again, Err(Errno::EAGAIN)) { Knew::No } else { Knew::Yes };
        Kind::Cached.count_again(knew);
        let agree = match (&answer, &again) {
            (_, Err(Errno::EAGAIN)) => true,
            (Ok(answer), Ok(again)) => same(answer, again),
            (Err(answer), Err(again)) => answer == again,
            _ => false,
        };
        if agree { answer } else { Err(at_odds()) }
    }
}

impl Face for Caches {
    fn context(&self) -> &Context {
        &self.context
    }

    fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        let same = |left: &Handle, right: &Handle| left.key() == right.key() && left.path() == right.path();
        self.either(|cached| cached.lookup_at(at, path, flags), |context| context.lookup_at(at, path, flags), same)
    }

    fn open(&mut self, at: At<'_>, path: &[u8], how: &OpenHow) -> Result<Arc<File>, Errno> {
        let changes = pathwalk::OpenFlags::CREATE | pathwalk::OpenFlags::TRUNCATE | pathwalk::OpenFlags::TMPFILE;
        if how.flags.intersects(changes) {
            return self.context.openat(at, path, how).map(Arc::new);
        }
        let same = |left: &File, right: &File| {
            let number = |file: &File| file.handle().attributes().map(|found| found.ino);
            number(left) == number(right) && left.flags() == right.flags()
        };
        self.either(|cached| cached.openat(at, path, how), |context| context.openat(at, path, how), same).map(Arc::new)
    }

    fn statx(&mut self, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        // Attributes that were not wanted may be out of date.
        let wants_all = mask.contains(StatxMask::BASIC_STATS);
        // What else is up to date may have come with another question.
        let wanted = |of: &Statx| of.mask & (mask | StatxMask::MNT_ID | StatxMask::MNT_ID_UNIQUE);
        let same = |left: &Statx, right: &Statx| wanted(left) == wanted(right) && (!wants_all || left == right);
        self.either(|cached| cached.statx_at(at, path, flags, mask), |context| context.statx_at(at, path, flags, mask), same)
    }

    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        let same = |left: &Attributes, right: &Attributes| left == right;
        self.either(|cached| cached.fstatat(at, path, flags), |context| context.fstatat(at, path, flags), same)
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        self.either(
            |cached| cached.faccessat(at, path, want, flags),
            |context| context.faccessat(at, path, want, flags),
            |(), ()| true,
        )
    }

    fn readlinkat(&mut self, at: At<'_>, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        let size = buffer.len();
        let body = |length: usize, mut body: Vec<u8>| {
            body.truncate(length);
            body
        };
        let ask = |cached: &Cached<'_>| {
            let mut text = vec![0; size];
            cached.readlinkat(at, path, &mut text).map(|length| body(length, text))
        };
        let plain = |context: &Context| {
            let mut text = vec![0; size];
            context.readlinkat(at, path, &mut text).map(|length| body(length, text))
        };
        let body = self.either(ask, plain, |left, right| left == right)?;
        buffer[..body.len()].copy_from_slice(&body);
        Ok(body.len())
    }

    fn read_at(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        match file.try_read_at(buffer, offset) {
            Err(Errno::EAGAIN) => Kind::Cached.count(Knew::No),
            // What is not at hand ends a read early, as it ends one with `RWF_NOWAIT`.
            Ok(length) if length < buffer.len() => Kind::Cached.count(Knew::No),
            answer => {
                Kind::Cached.count(Knew::Yes);
                return answer;
            }
        }
        file.read_at(buffer, offset)
    }
}
