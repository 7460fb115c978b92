//! Rules for the resolution of paths: those of the ring's context, and those that an entry adds.

use pathwalk::{Access, AtFlags, Errno, OpenFlags, OpenHow, Resolve, StatxMask};
use pathwalk_ring::{Entry, Op, Ring};

use crate::common::*;

const NOTHING: AtFlags = AtFlags::empty();

/// Returns each operation that has rules of its own, on this path.
fn all(path: &'static str, resolve: Resolve) -> Vec<Op<'static>> {
    let how = OpenHow { flags: OpenFlags::READ, resolve, ..OpenHow::default() };
    vec![
        Op::Openat2 { place: path.into(), how },
        Op::Statx { place: path.into(), flags: NOTHING, mask: StatxMask::BASIC_STATS, resolve },
        Op::Access { place: path.into(), want: Access::READ, flags: NOTHING, resolve },
        Op::Lookup { place: path.into(), flags: NOTHING, resolve },
        Op::Readlink { place: path.into(), resolve },
    ]
}

fn numbers(ring: &mut Ring, ops: Vec<Op<'static>>) -> Vec<i32> {
    submit(ring, ops.into_iter().zip(0..).map(|(op, id)| Entry::new(id, op)));
    results(ring).into_iter().map(|(_, result)| result).collect()
}

fn refused(errno: Errno) -> i32 {
    -errno.raw()
}

/// Checks both ways: a worker answers and, the second time, the caches do.
#[test]
fn an_entry_adds_rules() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 2);
    for _ in 0..2 {
        assert_eq!(numbers(&mut ring, all("/link", Resolve::BENEATH)), [refused(Errno::EXDEV); 5]);
        assert_eq!(numbers(&mut ring, all("d/../../d/a", Resolve::BENEATH)), [refused(Errno::EXDEV); 5]);
        let followed = numbers(&mut ring, all("link", Resolve::NO_SYMLINKS));
        assert_eq!(followed[..4], [refused(Errno::ELOOP); 4]);
        assert_eq!(followed[4], 3, "the body of a link that is not followed");
        assert_eq!(numbers(&mut ring, all("link", Resolve::BENEATH))[..4], [0; 4]);
        let both = Resolve::BENEATH | Resolve::IN_ROOT;
        assert_eq!(numbers(&mut ring, all("link", both)), [refused(Errno::EINVAL); 5]);
    }
}

/// Checks that the context's rule holds also for an entry that adds the same rule.
#[test]
fn a_rule_that_is_given_twice_holds() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context.with_resolve(Resolve::NO_SYMLINKS).unwrap(), 2);
    for _ in 0..2 {
        assert_eq!(numbers(&mut ring, all("/link", Resolve::NO_SYMLINKS))[..4], [refused(Errno::ELOOP); 4]);
    }
}

/// Checks that an entry is answered in `submit` if both its rules and those of the context accept
/// only the caches' answer.
#[test]
fn the_caches_or_nothing_is_said_twice() {
    let (_, context) = world();
    let mut ring = ring(&context.with_resolve(Resolve::CACHED).unwrap(), 2);
    for resolve in [Resolve::empty(), Resolve::CACHED] {
        assert_eq!(numbers(&mut ring, all("/link", resolve)), [EAGAIN; 5]);
    }
    assert_eq!(ring.pool().stats().workers, 0);
}

/// Checks that operations that change something have the rules of the ring's context.
#[test]
fn a_ring_of_a_confined_context_changes_nothing_outside() {
    let (fs, context) = world();
    fs.open_gate();
    let jail = context.confined(&context.lookup("/d").unwrap()).unwrap();
    let mut ring = ring(&jail, 2);
    let ops = vec![Op::stat("/../d/a"), Op::stat("/a"), Op::open("/../link", OpenFlags::READ)];
    assert_eq!(numbers(&mut ring, ops), [refused(Errno::ENOENT), 0, refused(Errno::ENOENT)]);
    let make = || Op::Mkdirat { place: "../../made".into(), mode: 0o755 };
    assert_eq!(numbers(&mut ring, vec![make()]), [0]);
    assert_eq!((context.stat("/made").map(drop), context.stat("/d/made").map(drop)), (Err(Errno::ENOENT), Ok(())));
    let cached = jail.with_resolve(Resolve::CACHED).unwrap();
    let mut ring = crate::common::ring(&cached, 2);
    assert_eq!(numbers(&mut ring, vec![make(), Op::stat("/a")]), [refused(Errno::EAGAIN), 0]);
}
