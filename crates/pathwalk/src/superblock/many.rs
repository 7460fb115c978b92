//! The entering of many names of one directory at once, with their nodes. The file system gave them
//! in addition to a name that was looked up.
//!
//! Each name is entered as by a lookup: a dentry marked `IN_LOOKUP` becomes visible, gets its
//! inode, and is unmarked. But several go through each step together, because memory is slow and
//! serves many accesses in the time of one, and because a lock is then taken once.
//!
//! Invariants: what is cached already stays as it is, except names that were only listed, which are
//! filled. Each node that was handed out is forgotten, or an inode stands for it, even if an error
//! occurs.
//!
//! What it does not do: it does not move a directory that is cached under another name. A lookup of
//! that name does.

use arrayvec::ArrayVec;

use super::Trees;
use super::iget::Origin;
use super::superblock::Superblock;
use crate::Errno;
use crate::cache::Caches;
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::doubt::OfNames;
use crate::cache::dcache::in_lookup::Asking;
use crate::cache::dcache::watch::Known;
use crate::cache::icache::hold::{HandedOut, NotGiven, Reserved};
use crate::cache::icache::versions::Asked;
use crate::cache::reclaim::Short;
use crate::memory::slot::{DentryId, SuperblockId};
use crate::node::Node;
use crate::text::Name;

/// The counts at the time when the file system was asked for names of a directory.
#[derive(Clone, Copy)]
pub(crate) struct AskedForMany {
    pub(crate) versions: Asked,
    pub(crate) doubts: OfNames,
}

/// The number of names that go together.
const TOGETHER: usize = 32;

/// A list with one element for each name that goes along.
type Each<T> = ArrayVec<T, TOGETHER>;

/// A new dentry that is not visible to other threads yet. It is discarded if this is dropped.
struct Unshown<'a> {
    caches: &'a Caches,
    id: DentryId,
}

impl Drop for Unshown<'_> {
    fn drop(&mut self) {
        self.caches.discard(self.id);
    }
}

impl Unshown<'_> {
    fn into_id(self) -> DentryId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

/// Slots for dentries. They are given back if they are not used.
struct Slots<'a> {
    caches: &'a Caches,
    ids: Each<DentryId>,
}

impl Drop for Slots<'_> {
    fn drop(&mut self) {
        self.ids.drain(..).for_each(|id| self.caches.dentries.give(id));
    }
}

/// Nodes that were handed out and not handled yet. They are forgotten if they never are.
struct Rest<'a> {
    caches: &'a Caches,
    superblock: SuperblockId,
    found: &'a [(Name<'a>, Node)],
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.found.iter().for_each(|(_, node)| drop(HandedOut::new(self.caches, self.superblock, node.key)));
    }
}

impl Trees {
    /// Enters nodes that the file system handed out, with their names in `dir`. The caller has a
    /// pin on `dir`, and its lock shared. `asked` was read before the file system was asked for the
    /// nodes. Returns an error but goes on: `ESTALE` for a directory that is cached elsewhere, and
    /// the errors of [`iget_new`](Trees::iget_new). Only after `ENFILE`, if the budget is used up
    /// by pinned entries, the rest is not entered.
    pub(crate) fn enter_many(&self, dir: DentryId, asked: AskedForMany, found: &[(Name<'_>, Node)]) -> Result<(), Errno> {
        let mut outcome = Ok(());
        let superblock = self.superblock_at(dir);
        let mut rest = Rest { caches: &self.caches, superblock: superblock.id, found };
        while outcome != Err(Errno::ENFILE) && !rest.found.is_empty() {
            let (some, others) = rest.found.split_at(TOGETHER.min(rest.found.len()));
            // From here on, these nodes are forgotten if they are not entered.
            let nodes: Each<_> = some.iter().map(|(_, node)| HandedOut::new(&self.caches, superblock.id, node.key)).collect();
            rest.found = others;
            outcome = self.enter_some(&superblock, dir, asked, some, nodes).and(outcome);
        }
        outcome
    }

    fn enter_some(
        &self,
        superblock: &Superblock,
        dir: DentryId,
        asked: AskedForMany,
        some: &[(Name<'_>, Node)],
        nodes: Each<HandedOut<'_>>,
    ) -> Result<(), Errno> {
        self.fetch_places(superblock.id, dir, some);
        let shown = self.show(dir, some, self.new_ones(dir, some)?);
        if self.caches.doubts.of_names(dir) != asked.doubts {
            shown.iter().flatten().for_each(|(asking, _)| self.caches.doubt(asking.dentry()));
        }
        let (mut outcome, mut answered) = (Ok(()), Each::new());
        for (((_, node), handed_out), shown) in some.iter().zip(nodes).zip(shown) {
            let Some((asking, reserved)) = shown else { continue };
            handed_out.pass_on();
            match self.iget_new(superblock, asking.dentry(), node, reserved, Origin::Found(asked.versions)) {
                Ok(()) => answered.push(asking),
                Err(NotGiven::Failed(errno)) => outcome = Err(errno),
                Err(NotGiven::AliasElsewhere(_)) => outcome = Err(Errno::ESTALE),
            }
        }
        superblock.told_siblings(answered.len() as u64);
        Asking::all_answered(&self.caches, answered);
        outcome
    }

    /// Reads the places where they will be entered, all at once. The values are not used.
    fn fetch_places(&self, superblock: SuperblockId, dir: DentryId, some: &[(Name<'_>, Node)]) {
        let (mut names, mut keys) = ([0; TOGETHER], [0; TOGETHER]);
        for (at, (name, node)) in some.iter().enumerate() {
            names[at] = self.caches.hash.in_directory(self.caches.hash.name(name.bytes()), dir.0);
            keys[at] = self.caches.key_hash(superblock, node.key);
        }
        // Nothing else comes between, so that the processor overlaps as many reads as it can.
        let of_name = |hash: &u64| self.caches.dentries.fetch_place(*hash) ^ u64::from(self.caches.uses.peek(*hash));
        let of_key = |hash: &u64| self.caches.inodes.fetch_place(*hash);
        let some_names = names[..some.len()].iter().map(of_name);
        std::hint::black_box(some_names.chain(keys[..some.len()].iter().map(of_key)).fold(0, |all, word| all ^ word));
    }

    /// Allocates a dentry and a slot for an inode for each name.
    fn new_ones(&self, dir: DentryId, some: &[(Name<'_>, Node)]) -> Result<Each<(Unshown<'_>, Reserved<'_>)>, Errno> {
        let inodes: Each<_> = some.iter().map(|_| self.caches.reserve_inode()).collect::<Result<_, _>>()?;
        let mut slots = Slots { caches: &self.caches, ids: Each::new() };
        for _ in some {
            slots.ids.push(self.caches.take(Short::Dentries, || self.caches.dentries.take())?);
        }
        // No atomic exchange comes between, so that none of these stores waits for another.
        slots.ids.iter().for_each(|id| self.caches.dentries.write_ahead(*id));
        inodes.iter().for_each(Reserved::write_ahead);
        // The slots are used from the end of the list.
        let of_one = |((name, _), reserved): (&(Name<'_>, Node), _)| {
            let id = slots.ids.pop().expect("there is one for each");
            let id = self.caches.fill_new(id, dir, name.bytes(), flags::IN_LOOKUP)?;
            Ok((Unshown { caches: &self.caches, id }, reserved))
        };
        some.iter().zip(inodes).map(of_one).collect()
    }

    /// Makes the dentries visible whose names are not cached, and starts to ask about those that
    /// are only listed. The others are discarded.
    fn show<'a>(
        &'a self,
        dir: DentryId,
        some: &[(Name<'_>, Node)],
        new: Each<(Unshown<'a>, Reserved<'a>)>,
    ) -> Each<Option<(Asking<'a>, Reserved<'a>)>> {
        // Dropped after the lock.
        let mut garbage = Each::new();
        let held = self.caches.dentries.children_lock(dir);
        // Where all names are cached, a new one is not accepted.
        let may_be_new = self.caches.known(dir, &held) != Known::All;
        let show = |((new, reserved), (name, _)): ((Unshown<'a>, Reserved<'a>), &(Name<'_>, Node))| {
            let asking = match self.caches.probe_exact(dir, name.bytes(), &held) {
                None if may_be_new => {
                    self.caches.hash_in(dir, new.id, &held);
                    return Some((Asking::about_new(&self.caches, new.into_id()), reserved));
                }
                None => None,
                Some(listed) => self.caches.ask_about_listed(listed, &held),
            };
            garbage.push(new);
            asking.map(|asking| (asking, reserved))
        };
        let shown = new.into_iter().zip(some).map(show).collect();
        // Released before the garbage is dropped.
        drop(held);
        shown
    }
}
