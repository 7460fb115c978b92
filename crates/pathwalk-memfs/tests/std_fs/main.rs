//! `std::fs` as the oracle: the same random programs of what a context has of it, on a directory of
//! the host and on a `MemFs`, give the same results, the same kinds of errors, and the same tree.
//!
//! Any file system of the host will do; `/dev/shm` is taken where it is there. A failure names the
//! seed and the step.

mod op;
mod tree;

use std::path::Path;
use std::sync::LazyLock;

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_memfs::MemFs;

use op::{Dice, Op};

const SEEDS: u64 = 1_000;
const STEPS: usize = 60;

/// Where both trees begin: `..` and `remove_dir_all` are not to get out of the host's.
const TOP: &str = "t";

/// The umask of this process. It can only be read by setting it, so that is done once, before
/// anything is made.
static UMASK: LazyLock<u16> = LazyLock::new(|| {
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    umask.as_raw_mode() as u16
});

/// Returns a context with the caller's own rights, and umask, as the host applies them.
fn context() -> Context {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let credentials = if uid == 0 { Credentials::root() } else { Credentials::user(uid, gid, &[]) };
    let fs = MemFs::new();
    fs.chown("/", uid, gid).unwrap();
    let mut context = Vfs::builder().budget(1 << 20).build(fs).unwrap().context(credentials);
    context.umask(*UMASK);
    context
}

fn tempdir() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

#[test]
fn random_programs_are_answered_as_by_the_standard_library() {
    for seed in 1..=SEEDS {
        let (host, context) = (tempdir(), context());
        std::fs::create_dir(host.path().join(TOP)).unwrap();
        context.create_dir(TOP).unwrap();
        let mut dice = Dice(seed);
        let mut program = Vec::new();
        for step in 0..STEPS {
            let op = Op::random(&mut dice);
            let (ours, theirs) = (op.by_context(&context), op.by_std(host.path()));
            program.push(op);
            assert_eq!(ours, theirs, "seed {seed}, step {step}: {program:?}");
        }
        assert_eq!(tree::of_context(&context), tree::of_host(host.path()), "seed {seed}: {program:?}");
    }
}

/// The kinds of answers that random programs have: each operation succeeds and fails.
#[test]
fn each_operation_succeeds_and_fails() {
    let mut met = std::collections::BTreeSet::new();
    for seed in 1..=SEEDS {
        let context = context();
        context.create_dir(TOP).unwrap();
        let mut dice = Dice(seed);
        for _ in 0..STEPS {
            let op = Op::random(&mut dice);
            met.insert((op.name(), op.by_context(&context).is_ok()));
        }
    }
    assert_eq!(met.len(), 2 * op::KINDS, "{met:?}");
}

/// All permission bits are copied, to a new file and to one that is there with others, whatever the
/// umask takes.
#[test]
fn copies_have_the_bits_of_what_they_are_of() {
    let (host, context) = (tempdir(), context());
    let by_both = |op: Op| {
        let (ours, theirs) = (op.by_context(&context), op.by_std(host.path()));
        assert_eq!(ours, theirs, "{op:?}");
        ours
    };
    std::fs::create_dir(host.path().join(TOP)).unwrap();
    context.create_dir(TOP).unwrap();
    for mode in op::MODES {
        for there in [false, true] {
            by_both(Op::Write("a", 1)).unwrap();
            by_both(Op::SetPermissions("a", mode)).unwrap();
            if there {
                by_both(Op::Write("b", 3)).unwrap();
            }
            by_both(Op::Copy("a", "b")).unwrap();
            by_both(Op::Metadata("b")).unwrap();
            by_both(Op::Read("b")).unwrap();
            by_both(Op::RemoveFile("b")).unwrap();
        }
    }
}
