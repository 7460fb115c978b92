//! A compiler's lookups on a recorded tree. On any machine and as any user, the same 118 of 205 are
//! absent and the others succeed, whether the tree is in memory or in a directory of the host. Once
//! all is cached, the fast walk answers alone.

use std::error::Error;

use pathwalk::permission::Ids;
use pathwalk::{Context, Credentials, Errno, FileSystem, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::{LinkBodies, MemFs, Options};
use pathwalk_tests::tree::gcc_tree;
use pathwalk_trace::trace::{Question, Trace};

type Answers = Vec<Result<(), Errno>>;

fn ask(context: &Context, questions: &[Question]) -> Answers {
    questions.iter().map(|question| context.access(&question.path[..], question.want)).collect()
}

/// Makes all lookups as several users, checks the counts, and returns the answers.
fn answers(vfs: &Vfs) -> Result<Answers, Box<dyn Error>> {
    let trace = Trace::gcc();
    let questions = trace.questions();
    let root = vfs.context(Credentials::root());
    let first = ask(&root, questions);
    let absent = first.iter().filter(|answer| **answer == Err(Errno::ENOENT)).count();
    let found = first.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!((questions.len(), absent, found), (205, 118, 87));

    // The tree is open to all users, so all get the same answers. `access` checks the real ids.
    let nobody = Ids { uid: 65534, gid: 65534 };
    for who in [Credentials::user(65534, 65534, &[]), Credentials::root().with_real(nobody)] {
        assert_eq!(ask(&root.clone().with_credentials(who), questions), first);
    }
    Ok(first)
}

/// Builds a `Vfs` and checks all answers. Checks that repeated lookups cause no hand-over and no
/// call of the file system.
fn answers_alone(fs: impl FileSystem + 'static) -> Result<Answers, Box<dyn Error>> {
    let vfs = Vfs::builder().build(fs)?;
    let first = answers(&vfs)?;
    let before = vfs.stats();
    assert_eq!(answers(&vfs)?, first);
    let after = vfs.stats();
    assert_eq!((after.hand_overs, after.fs_lookups), (before.hand_overs, before.fs_lookups));
    Ok(first)
}

fn in_memory(options: Options) -> Result<MemFs, Box<dyn Error>> {
    let fs = MemFs::with(options);
    gcc_tree()?.lay_into(&fs)?;
    Ok(fs)
}

#[test]
fn in_memory_118_are_absent() -> Result<(), Box<dyn Error>> {
    let fs = in_memory(Options::default())?;
    answers_alone(fs.alias())?;
    let usage = fs.usage();
    assert_eq!((usage.nodes, usage.held), (39, 0), "all that was handed out is forgotten with the Vfs");
    assert_eq!((fs.calls().stray_forget, fs.calls().permission), (0, 0));
    Ok(())
}

#[test]
fn without_link_bodies_the_answers_are_the_same() -> Result<(), Box<dyn Error>> {
    let fs = in_memory(Options::default().link_bodies(LinkBodies::OnRequest))?;
    let asked = answers(&Vfs::builder().build(fs.alias())?)?;
    assert_eq!(asked, answers_alone(in_memory(Options::default())?)?);
    assert!(fs.calls().read_link > 0);
    Ok(())
}

#[test]
fn in_a_directory_of_the_host_they_are_the_same() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    gcc_tree()?.lay_beneath(dir.path())?;
    let host = answers_alone(HostFs::open(dir.path())?.with_coherence(Coherence::Frozen))?;
    assert_eq!(host, answers_alone(in_memory(Options::default())?)?);
    Ok(())
}
