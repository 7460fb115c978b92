//! The questions of readers, and their possible answers.

use std::collections::VecDeque;

use pathwalk::{Access, AtFlags, Context, Credentials, Errno, Handle};

use crate::phase::any;
use crate::world::{CHURNED, DIRECTORIES, EXCHANGED, FILES, Group, MARKS, World, always_group, churned_kind};

/// The number of handles that a reader keeps, so that some dentries are always pinned.
const KEPT: usize = 8;

/// A thread that asks questions.
pub(crate) struct Reader<'a> {
    world: &'a World,
    context: Context,
    kept: VecDeque<(usize, Handle)>,
    random: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(world: &'a World, seed: u64) -> Reader<'a> {
        let context = world.vfs.context(Credentials::user(1000, 1000, &[]));
        Reader { world, context, kept: VecDeque::new(), random: seed * 2 + 1 }
    }

    /// Returns a number below `n`. Xorshift: the same sequence on every run, and one for each
    /// reader.
    fn below(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % n
    }

    /// Asks one question and checks the answer.
    pub(crate) fn ask(&mut self) {
        match self.below(12) {
            0 | 1 => self.replaced_is_never_absent(),
            2 | 3 => self.moved_directory(),
            4 => self.parent_of_a_moved_directory(),
            5 => self.exchanged(),
            6 => self.guarded(),
            7 | 8 => self.created_and_unlinked(),
            9 => self.never_there(),
            10 => self.kept_handles(),
            _ => self.always_there(),
        }
    }

    fn group(&self, path: &str) -> Group {
        self.context.stat(path).map(|attributes| attributes.gid)
    }

    fn replaced_is_never_absent(&self) {
        let (states, seen) = self.world.swapped.during(|| self.group("swap/target"));
        let seen = seen.unwrap_or_else(|errno| panic!("swap/target, which is replaced atomically, was {errno:?}"));
        assert!(states.contains(&u64::from(seen)), "swap/target was file {seen}, while only {states:?} were there");
        assert_eq!(self.context.access("always/../swap/./target", Access::READ), Ok(()));
    }

    fn moved_directory(&mut self) {
        let (path, there) = if self.below(2) == 0 { ("pair/a/x", 0) } else { ("pair/b/x", 1) };
        let (states, seen) = self.world.moved.during(|| self.context.access(path, Access::READ));
        let possible = any(states.clone(), |n| seen == if n % 2 == there { Ok(()) } else { Err(Errno::ENOENT) });
        assert!(possible, "{path} was {seen:?} during states {states:?}");
    }

    fn parent_of_a_moved_directory(&mut self) {
        let (path, side) = if self.below(2) == 0 { ("left/m/../mark", 0) } else { ("right/m/../mark", 1) };
        let (states, seen) = self.world.crossed.during(|| self.group(path));
        let ours = |n: u64| n % 2 == side;
        let possible = match seen {
            Err(Errno::ENOENT) => any(states.clone(), |n| !ours(n)),
            Ok(mark) if mark == MARKS[side as usize] => any(states.clone(), ours),
            // It was found here, and its parent was read after the move.
            Ok(mark) if mark == MARKS[1 - side as usize] => any(states.clone(), |n| ours(n) && states.contains(&(n + 1))),
            _ => false,
        };
        assert!(possible, "{path} was {seen:?} during states {states:?}");
    }

    fn exchanged(&mut self) {
        let (path, side) = if self.below(2) == 0 { ("swap/p", 0) } else { ("swap/q", 1) };
        let (states, seen) = self.world.exchanged.during(|| self.group(path));
        let possible = any(states.clone(), |n| seen == Ok(EXCHANGED[((n + side) % 2) as usize]));
        assert!(possible, "{path} was {seen:?} during states {states:?}");
    }

    fn guarded(&self) {
        let (states, seen) = self.world.guarded.during(|| self.context.access("guard/f", Access::READ));
        let possible = any(states.clone(), |n| seen == if n % 2 == 0 { Ok(()) } else { Err(Errno::EACCES) });
        assert!(possible, "guard/f was {seen:?} during states {states:?}");
    }

    fn created_and_unlinked(&mut self) {
        let k = self.below(CHURNED);
        let path = format!("churn/{k}");
        let (states, seen) = self.world.churned[k].during(|| self.context.lstat(&path));
        let possible = match seen {
            Err(Errno::ENOENT) => any(states.clone(), |n| n % 2 == 0),
            Ok(it) => {
                let n = u64::from(it.gid);
                n % 2 == 1 && states.contains(&n) && churned_kind(n).1 == it.kind
            }
            Err(_) => false,
        };
        assert!(possible, "{path} was {seen:?} during states {states:?}");
        // The same name, followed, with a component behind it: any answer that one of its kinds
        // gives.
        let below = self.context.access(format!("{path}/nope"), Access::empty());
        assert!(matches!(below, Err(Errno::ENOENT | Errno::ENOTDIR)), "{path}/nope was {below:?}");
    }

    fn never_there(&mut self) {
        let dir = self.below(DIRECTORIES);
        let n = self.below(20);
        for (path, expected) in [
            (format!("always/{dir}/nope{n}"), Errno::ENOENT),
            (format!("swap/nope{n}/x"), Errno::ENOENT),
            (format!("pair/c{}", n % 4), Errno::ENOENT),
            (format!("always/{dir}/{}/x", n % FILES), Errno::ENOTDIR),
        ] {
            assert_eq!(self.context.access(&path, Access::empty()), Err(expected), "{path}");
        }
    }

    fn always_there(&mut self) {
        // All directories have the same names in them: a walk that mistook one for another would
        // find a file.
        for _ in 0..4 {
            let (dir, file) = (self.below(DIRECTORIES), self.below(FILES));
            let path = format!("always/{dir}/{file}");
            assert_eq!(self.group(&path), Ok(always_group(dir, file)), "{path}");
            assert_eq!(self.context.access(&path, Access::READ), Ok(()), "{path}");
        }
        let link = "always/link-with-a-name-that-is-longer-than-its-dentry-has-room-for";
        assert_eq!(self.context.access(link, Access::READ), Ok(()));
        let mut body = [0; 64];
        let len = self.context.readlink(link, &mut body).expect("a link that is always there");
        assert_eq!(&body[..len], b"../pair/../left/../always/0/0");
    }

    /// Checks that handles keep their nodes, whatever is evicted meanwhile.
    fn kept_handles(&mut self) {
        let dir = self.below(DIRECTORIES);
        let handle = self.context.lookup(format!("always/{dir}")).expect("a directory that is always there");
        self.kept.push_back((dir, handle));
        for (dir, handle) in &self.kept {
            assert_eq!(handle.path(), Ok(format!("/always/{dir}").into_bytes()));
            let below = self.context.fstatat(handle, "7", AtFlags::empty()).map(|it| it.gid);
            assert_eq!(below, Ok(always_group(*dir, 7)), "always/{dir}/7 by a handle");
        }
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }
}
