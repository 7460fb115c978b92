//! A file system around another one that fails, delays or panics by plan.
//!
//! A call that fails or panics has no effect: it does not reach the inner file system. The plan and
//! the number of the call alone decide which calls are affected, so the same operations in the same
//! order fail in the same way. Calls are counted from 0, over all methods of the file system and of
//! its open files, and only while the plan is in force.
//!
//! `forget` cannot fail, so it is only delayed; `absence` and `memory` are passed on. A planned
//! panic carries a [`PlannedPanic`] and prints nothing.
//!
//! ```
//! use pathwalk::{Credentials, Errno, Vfs};
//! use pathwalk_memfs::MemFs;
//! use pathwalk_tests::failing::{Failing, Fault, Plan};
//! use std::sync::Arc;
//!
//! let fs = Arc::new(Failing::new(MemFs::new()));
//! let context = Vfs::builder().build(fs.clone())?.context(Credentials::root());
//! fs.start(Plan::nth(0, Fault::Error(Errno::EIO)));
//! assert_eq!(context.stat("/no").err(), Some(Errno::EIO));
//! assert_eq!(context.stat("/no").err(), Some(Errno::ENOENT));
//! assert_eq!(fs.stop().errors, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod open_file;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::sleep;
use std::time::Duration;

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Details, Directory, Errno, FileHandle, FileSystem, FoundName, Freshness, HandleFor, InodeFlags,
    Name, NewNode, Node, NodeKey, OpenFile, OpenFor, RenameFlags, SetAttributes, StatFs, StatxMask, SuperblockFlags, Timestamp,
    Validity, XattrFlags, XattrName,
};

use open_file::FailingFile;

/// The effect on a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The call fails.
    Error(Errno),
    /// The call is delayed by this time.
    Delay(Duration),
    /// The call panics with a [`PlannedPanic`].
    Panic,
}

/// The payload of a planned panic: the number of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannedPanic(pub u64);

/// The number of calls in a thousand that get each fault. Together at most 1000.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerMille {
    /// The calls that fail, with `EIO`, `ENOMEM` or `ESTALE` in turn.
    pub errors: u64,
    /// The calls that are delayed by up to 100 microseconds.
    pub delays: u64,
    /// The calls that panic.
    pub panics: u64,
}

/// The assignment of faults to calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Nth(u64, Fault),
    From(u64, Fault),
    Always(Fault),
    Random(u64, PerMille),
}

impl Plan {
    /// Plans a fault for the call of this number, counted from 0.
    pub fn nth(number: u64, fault: Fault) -> Plan {
        Plan(Kind::Nth(number, fault))
    }

    /// Plans a fault for the call of this number, counted from 0, and all behind it: the calls of a
    /// process that is killed there do not take place.
    pub fn from(number: u64, fault: Fault) -> Plan {
        Plan(Kind::From(number, fault))
    }

    /// Plans a fault for each call.
    pub fn always(fault: Fault) -> Plan {
        Plan(Kind::Always(fault))
    }

    /// Plans faults for random calls, drawn from the seed.
    pub fn random(seed: u64, how_many: PerMille) -> Plan {
        Plan(Kind::Random(seed, how_many))
    }

    fn fault(&self, number: u64) -> Option<Fault> {
        match self.0 {
            Kind::Nth(nth, fault) => (nth == number).then_some(fault),
            Kind::From(first, fault) => (number >= first).then_some(fault),
            Kind::Always(fault) => Some(fault),
            Kind::Random(seed, how_many) => {
                let dice = mixed(seed ^ mixed(number));
                let (which, how) = (dice % 1000, dice / 1000);
                let PerMille { errors, delays, panics } = how_many;
                match which {
                    _ if which < errors => Some(Fault::Error([Errno::EIO, Errno::ENOMEM, Errno::ESTALE][(how % 3) as usize])),
                    _ if which < errors + delays => Some(Fault::Delay(Duration::from_micros(how % 100))),
                    _ if which < errors + delays + panics => Some(Fault::Panic),
                    _ => None,
                }
            }
        }
    }
}

/// Applies SplitMix64's last step: every bit of the result depends on every bit of the number.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The counts since the plan was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All calls.
    pub calls: u64,
    /// The calls that failed.
    pub errors: u64,
    /// The calls that were delayed.
    pub delays: u64,
    /// The calls that panicked.
    pub panics: u64,
}

/// The plan in force and its counts. Shared with open files.
#[derive(Default)]
struct Faults {
    plan: RwLock<Option<Plan>>,
    calls: AtomicU64,
    errors: AtomicU64,
    delays: AtomicU64,
    panics: AtomicU64,
}

impl Faults {
    /// Counts a call and applies its fault.
    fn meet(&self) -> Result<(), Errno> {
        let Some((number, fault)) = self.next() else { return Ok(()) };
        match fault {
            Fault::Error(errno) => {
                self.errors.fetch_add(1, SeqCst);
                Err(errno)
            }
            Fault::Delay(time) => {
                self.delay(time);
                Ok(())
            }
            Fault::Panic => {
                self.panics.fetch_add(1, SeqCst);
                resume_unwind(Box::new(PlannedPanic(number)))
            }
        }
    }

    /// Counts a call that must not block, and applies its fault; a delay becomes `EAGAIN`.
    fn meet_at_once(&self) -> Result<(), Errno> {
        match self.next() {
            Some((_, Fault::Delay(_))) => Err(Errno::EAGAIN),
            Some((_, Fault::Error(errno))) => {
                self.errors.fetch_add(1, SeqCst);
                Err(errno)
            }
            Some((number, Fault::Panic)) => {
                self.panics.fetch_add(1, SeqCst);
                resume_unwind(Box::new(PlannedPanic(number)))
            }
            None => Ok(()),
        }
    }

    /// Counts a call that cannot fail, and applies its delay.
    fn meet_delay(&self) {
        if let Some((_, Fault::Delay(time))) = self.next() {
            self.delay(time);
        }
    }

    fn next(&self) -> Option<(u64, Fault)> {
        let plan = (*self.plan.read().unwrap_or_else(PoisonError::into_inner))?;
        let number = self.calls.fetch_add(1, SeqCst);
        Some((number, plan.fault(number)?))
    }

    fn delay(&self, time: Duration) {
        self.delays.fetch_add(1, SeqCst);
        sleep(time);
    }

    /// Puts another plan in force; returns the counts of the former one.
    fn exchange(&self, plan: Option<Plan>) -> Counts {
        let mut now = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        *now = plan;
        let taken = |counter: &AtomicU64| counter.swap(0, SeqCst);
        Counts {
            calls: taken(&self.calls),
            errors: taken(&self.errors),
            delays: taken(&self.delays),
            panics: taken(&self.panics),
        }
    }
}

/// A file system that fails by plan; without a plan, it acts as the inner one.
pub struct Failing<F> {
    inner: F,
    faults: Arc<Faults>,
}

impl<F> Failing<F> {
    /// Creates a file system around another one, with no plan.
    pub fn new(inner: F) -> Failing<F> {
        Failing { inner, faults: Arc::default() }
    }

    /// Returns the inner file system.
    pub fn inner(&self) -> &F {
        &self.inner
    }

    /// Starts a plan, with call 0 and all counts at zero.
    pub fn start(&self, plan: Plan) {
        self.faults.exchange(Some(plan));
    }

    /// Ends the plan: later calls do not fail. Returns the counts. A call whose fault is in
    /// progress goes on.
    pub fn stop(&self) -> Counts {
        self.faults.exchange(None)
    }
}

impl<F: FileSystem> FileSystem for Failing<F> {
    fn root(&self) -> Result<Node, Errno> {
        self.faults.meet()?;
        self.inner.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.faults.meet()?;
        self.inner.lookup(dir, name)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.faults.meet()?;
        self.inner.attributes(node)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.faults.meet()?;
        self.inner.read_link(node)
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.permission(node, who, want)
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.inner.superblock_flags()
    }

    fn allows_id_maps(&self) -> bool {
        self.inner.allows_id_maps()
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.faults.meet()?;
        self.inner.acl(node)
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        self.faults.meet()?;
        self.inner.revalidate(dir, name, node)
    }

    fn absence(&self) -> Freshness {
        self.inner.absence()
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.inner.absence_in(dir)
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.inner.attributes_freshness(node)
    }

    fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        self.faults.meet()?;
        self.inner.confirm(dir, name, node)
    }

    fn forget(&self, node: NodeKey) {
        self.faults.meet_delay();
        self.inner.forget(node);
    }

    fn memory(&self) -> u64 {
        self.inner.memory()
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.faults.meet()?;
        self.inner.create(dir, name, new)
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.faults.meet()?;
        self.inner.create_unnamed(dir, new)
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.faults.meet()?;
        let inner = self.inner.open(node, what_for)?;
        Ok(Box::new(FailingFile { inner, faults: self.faults.clone() }))
    }

    /// Refuses to open what would be delayed.
    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.faults.meet_at_once()?;
        let inner = self.inner.try_open(node, what_for)?;
        Ok(Box::new(FailingFile { inner, faults: self.faults.clone() }))
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        self.faults.meet()?;
        self.inner.statfs()
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        self.faults.meet()?;
        self.inner.statfs_of(node)
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.faults.meet()?;
        self.inner.link(node, dir, name)
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.unlink(dir, name, node)
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.rename(from, to, flags)
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn keeps_acls(&self) -> bool {
        self.inner.keeps_acls()
    }

    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        self.inner.acl_removal_clears_sgid(node)
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.faults.meet()?;
        self.inner.get_acl(node, kind)
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        self.faults.meet()?;
        self.inner.set_acl(node, kind, acl, mode)
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.faults.meet()?;
        self.inner.set_attributes(node, set)
    }

    fn check_size(&self, node: NodeKey, size: u64) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.check_size(node, size)
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        self.faults.meet()?;
        self.inner.get_xattr(node, name)
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.set_xattr(node, name, value, flags)
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.list_xattrs(node, each)
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.remove_xattr(node, name)
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        self.faults.meet()?;
        self.inner.inode_flags(node)
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        self.faults.meet()?;
        self.inner.set_inode_flags(node, to)
    }

    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        self.faults.meet()?;
        self.inner.details(node, wanted)
    }

    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        self.faults.meet()?;
        self.inner.generation(node)
    }

    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        self.faults.meet()?;
        self.inner.set_generation(node, to)
    }

    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        self.faults.meet()?;
        self.inner.encode_handle(node, what_for)
    }

    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        self.faults.meet()?;
        self.inner.decode_handle(handle, near)
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.faults.meet()?;
        self.inner.find_name(node)
    }
}
