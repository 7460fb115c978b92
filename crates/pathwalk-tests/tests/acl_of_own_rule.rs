//! Tests of the calls that check the search permission of a directory: none, the file system's own
//! hook, or its query for an ACL; and of their number, once all is cached.
//!
//! All directories have mode 0111, so by the generic rule all users may search them. The hook of a
//! file system with its own rule is called once for each component, unless the file system promises
//! that the hook agrees with the generic rule. An ACL that exists, or may exist, voids the promise.

use std::error::Error;

use pathwalk::{Access, AclState, Context, Credentials, Errno, HandOver, PermissionRule, SetAttributes, Vfs, internals};
use pathwalk_memfs::{Calls, MemFs, Options};

const DIRECTORY: &str = "/usr/lib/gcc/x86_64-linux-gnu/12";
const PATH: &str = "/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o";

/// The number of directories to search: the root and five below.
const COMPONENTS: u64 = 6;

/// A tree in which only `PATH` leads anywhere, and an ordinary user.
struct Asked {
    fs: MemFs,
    context: Context,
}

/// The calls and hand-overs of one lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cost {
    hook: u64,
    acl: u64,
    /// The number of hand-overs for permission.
    handed_over: u64,
}

const NOBODY_ASKED: Cost = Cost { hook: 0, acl: 0, handed_over: 0 };

impl Asked {
    fn new(rule: PermissionRule, acl: AclState) -> Result<Asked, Box<dyn Error>> {
        let fs = MemFs::with(Options::default().permission_rule(rule).acl(acl));
        fs.chmod("/", 0o111)?;
        fs.mkdir_all(DIRECTORY, 0o111)?;
        fs.file(PATH, 0o644)?;
        let vfs = Vfs::builder().budget(1 << 20).build(fs.alias())?;
        Ok(Asked { fs, context: vfs.context(Credentials::user(1000, 1000, &[])) })
    }

    fn counts(&self) -> (Calls, u64) {
        (self.fs.calls(), self.context.vfs().stats().hand_overs_for(HandOver::Permission))
    }

    /// Makes one lookup; returns its answer and cost.
    fn ask(&self, want: Access) -> (Result<(), Errno>, Cost) {
        let (calls, handed_over) = self.counts();
        let answer = self.context.access(PATH, want);
        let (calls, handed_over) = (self.counts().0.since(&calls), self.counts().1 - handed_over);
        (answer, Cost { hook: calls.permission, acl: calls.acl, handed_over })
    }

    /// Returns the cost of a granted lookup once all is cached.
    fn cached(&self, want: Access) -> Cost {
        assert_eq!(self.ask(want).0, Ok(()));
        let (answer, cost) = self.ask(want);
        assert_eq!((answer, self.ask(want)), (Ok(()), (Ok(()), cost)), "it is the same each time");
        cost
    }

    fn chmod(&self, path: &str, mode: u16) -> Result<(), Errno> {
        let node = self.context.clone().with_credentials(Credentials::root()).lookup(path)?;
        internals::set_attributes(&node, &SetAttributes::default().with_mode(mode)).map(drop)
    }
}

#[test]
fn the_hook_is_asked_once_a_component_unless_it_promised() -> Result<(), Box<dyn Error>> {
    let once_a_component = Cost { hook: COMPONENTS, acl: 0, handed_over: 1 };
    for (rule, expected) in [
        (PermissionRule::Generic, NOBODY_ASKED),
        (PermissionRule::OwnButGenericSearch, NOBODY_ASKED),
        (PermissionRule::Own, once_a_component),
    ] {
        assert_eq!(Asked::new(rule, AclState::Absent)?.cached(Access::empty()), expected, "{rule:?}");
    }
    Ok(())
}

#[test]
fn the_promise_is_about_searching_only() -> Result<(), Box<dyn Error>> {
    let about_the_file = Cost { hook: 1, acl: 0, handed_over: 1 };
    for (rule, expected) in [
        (PermissionRule::Generic, NOBODY_ASKED),
        (PermissionRule::OwnButGenericSearch, about_the_file),
        (PermissionRule::Own, Cost { hook: COMPONENTS + 1, ..about_the_file }),
    ] {
        assert_eq!(Asked::new(rule, AclState::Absent)?.cached(Access::READ), expected, "{rule:?}");
    }
    Ok(())
}

#[test]
fn an_acl_voids_the_promise() -> Result<(), Box<dyn Error>> {
    let hook = Cost { hook: COMPONENTS, acl: 0, handed_over: 1 };
    for (rule, acl, expected) in [
        // Once the ACL is known to be absent, no further call is made.
        (PermissionRule::Generic, AclState::Unknown, NOBODY_ASKED),
        (PermissionRule::Generic, AclState::Present, hook),
        (PermissionRule::OwnButGenericSearch, AclState::Unknown, hook),
        (PermissionRule::OwnButGenericSearch, AclState::Present, hook),
        (PermissionRule::Own, AclState::Unknown, hook),
        (PermissionRule::Own, AclState::Present, hook),
    ] {
        assert_eq!(Asked::new(rule, acl)?.cached(Access::empty()), expected, "{rule:?}, {acl:?}");
    }
    Ok(())
}

#[test]
fn an_unknown_acl_is_asked_for_once_a_directory() -> Result<(), Box<dyn Error>> {
    let asked = Asked::new(PermissionRule::Generic, AclState::Unknown)?;
    asked.context.access(PATH, Access::empty())?;
    assert_eq!((asked.fs.calls().acl, asked.fs.calls().permission), (COMPONENTS, 0));
    assert_eq!(asked.cached(Access::empty()), NOBODY_ASKED);
    assert_eq!(asked.fs.calls().acl, COMPONENTS);
    Ok(())
}

#[test]
fn the_promise_ends_where_not_everyone_may_search() -> Result<(), Box<dyn Error>> {
    let asked = Asked::new(PermissionRule::OwnButGenericSearch, AclState::Absent)?;
    assert_eq!(asked.cached(Access::empty()), NOBODY_ASKED);
    asked.chmod(DIRECTORY, 0o110)?;
    let refused = (Err(Errno::EACCES), Cost { hook: 1, acl: 0, handed_over: 1 });
    assert_eq!(asked.ask(Access::empty()), refused, "the bit follows the mode, and the hook refuses");
    asked.chmod(DIRECTORY, 0o111)?;
    assert_eq!(asked.ask(Access::empty()), (Ok(()), NOBODY_ASKED));
    Ok(())
}
