//! The comparison of the engine's answers with the kernel's.
//!
//! Where they differ, both are asked again, the engine with empty caches. If the kernel's answer
//! differed at any time since the start, the tree was changed meanwhile, and neither side is wrong.
//! Otherwise it is a disagreement.

use std::collections::BTreeMap;

use pathwalk::Errno;
use pathwalk_bench::machine::{self, LastLinks, SetUpError};
use pathwalk_recording::{Recorded, Recording};

use super::answer::{Answer, same};
use super::question::Prepared;
use super::sides::{Engine, Kernel, StartDirectory};
use super::survey::Place;

/// The verdict about answers that differed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A change of the kernel's own answer meanwhile.
    Changed,
    /// A wrong answer of one of the two.
    Disagreement,
}

/// One lookup about which the two sides differed.
#[derive(Clone, Debug)]
pub(crate) struct Finding<'a> {
    pub(crate) recorded: &'a Recorded,
    pub(crate) ours: Answer,
    pub(crate) kernel: Answer,
    /// The engine's answer with empty caches.
    pub(crate) fresh: Answer,
    pub(crate) verdict: Verdict,
}

/// The answers of both sides.
pub(crate) struct Interview<'a> {
    links: LastLinks,
    recording: &'a Recording,
    kernel: Kernel,
    /// The prepared questions, by lookup.
    prepared: Vec<Prepared>,
    /// The kernel's answers before the engine loaded anything.
    first: Vec<Answer>,
    /// The findings, by lookup, so that each is found once.
    findings: BTreeMap<usize, Finding<'a>>,
}

impl<'a> Interview<'a> {
    /// Asks the kernel every lookup once. `tick` is called after each lookup.
    pub(crate) fn new(recording: &'a Recording, links: LastLinks, tick: &mut dyn FnMut()) -> Interview<'a> {
        let kernel = Kernel::new(&recording.starts);
        let prepared: Vec<_> = recording.lookups.iter().map(|recorded| prepare(recording, recorded, &kernel)).collect();
        let mut ask = |question: &Prepared| {
            tick();
            kernel.answer(question)
        };
        let first = prepared.iter().map(&mut ask).collect();
        Interview { links, recording, kernel, prepared, first, findings: BTreeMap::new() }
    }

    /// Asks both sides every lookup that is not left out, and examines the differences. `tick` is
    /// called after each lookup.
    pub(crate) fn compare(&mut self, places: &[Place], engine: &Engine, tick: &mut dyn FnMut()) -> Result<(), SetUpError> {
        let mut differing = Vec::new();
        for (i, question) in self.prepared.iter().enumerate() {
            tick();
            if matches!(places[i], Place::LeftOut(_)) {
                continue;
            }
            let (ours, kernel) = (engine.answer(question), self.kernel.answer(question));
            if !same(&ours, &kernel) {
                differing.push((i, ours, kernel));
            }
        }
        if differing.is_empty() {
            return Ok(());
        }
        let fresh = Engine::new(machine::host(self.links)?, &self.recording.starts);
        for (i, ours, kernel) in differing {
            let finding = self.look_into(i, ours, kernel, &fresh);
            if finding.verdict == Verdict::Disagreement {
                self.findings.insert(i, finding);
            } else {
                self.findings.entry(i).or_insert(finding);
            }
        }
        Ok(())
    }

    fn look_into(&self, i: usize, ours: Answer, kernel: Answer, fresh: &Engine) -> Finding<'a> {
        let question = &self.prepared[i];
        let fresh = fresh.answer(question);
        let still = same(&self.kernel.answer(question), &kernel) && same(&self.first[i], &kernel);
        let verdict = if still { Verdict::Disagreement } else { Verdict::Changed };
        Finding { recorded: &self.recording.lookups[i], ours, kernel, fresh, verdict }
    }

    /// Returns the kernel, with descriptors of the start directories.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Returns all lookups as they are asked.
    pub(crate) fn prepared(&self) -> &[Prepared] {
        &self.prepared
    }

    /// Returns the kernel's first answers.
    pub(crate) fn first(&self) -> &[Answer] {
        &self.first
    }

    /// Returns whether the kernel first answered that there is no such name.
    pub(crate) fn is_absent(&self, i: usize) -> bool {
        self.first[i] == Err(Errno::ENOENT)
    }

    /// Returns the lookups that one side answered wrongly, in the order of the recording.
    pub(crate) fn disagreements(&self) -> impl Iterator<Item = &Finding<'a>> {
        self.findings.values().filter(|finding| finding.verdict == Verdict::Disagreement)
    }

    /// Returns the lookups whose right answer changed meanwhile, in the order of the recording.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Finding<'a>> {
        self.findings.values().filter(|finding| finding.verdict == Verdict::Changed)
    }
}

fn prepare(recording: &Recording, recorded: &Recorded, kernel: &Kernel) -> Prepared {
    let lookup = &recorded.lookup;
    let joined = match lookup.start {
        pathwalk_recording::Start::Directory(number) => match kernel.start(number) {
            StartDirectory::Open(_) | StartDirectory::Gone(_) => None,
            StartDirectory::Joined => Some(&*recording.starts[number as usize]),
        },
        pathwalk_recording::Start::Root => None,
    };
    Prepared::new(lookup, joined)
}

#[cfg(test)]
mod tests {
    use pathwalk::{Access, Credentials};
    use pathwalk_trace::listing::Listing;
    use pathwalk_trace::trace::{Question, Trace};

    use super::super::answer::Found;
    use super::super::source::recording_of;
    use super::*;

    /// Creates an engine over a tree that is not this machine's: its `/tmp` is empty.
    fn elsewhere() -> Engine {
        Engine::new(machine::over(Listing::gcc(), Credentials::root()).unwrap(), &[])
    }

    fn about(path: &std::path::Path) -> Recording {
        recording_of(&Trace::repeated(path.as_os_str().as_encoded_bytes(), Access::empty(), 2), None)
    }

    const ANSWERED: [Place; 1] = [Place::At(None)];

    #[test]
    fn a_wrong_answer_is_a_disagreement_once() {
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let recording = about(file.path());
        let mut interview = Interview::new(&recording, LastLinks::of_this_machine(), &mut || ());
        interview.compare(&ANSWERED, &elsewhere(), &mut || ()).unwrap();
        interview.compare(&ANSWERED, &elsewhere(), &mut || ()).unwrap();
        let found: Vec<_> = interview.disagreements().collect();
        assert_eq!(found.len(), 1);
        let allowed = Ok(Found::Allowed);
        assert_eq!((&found[0].ours, &found[0].kernel, &found[0].fresh), (&Err(Errno::ENOENT), &allowed, &allowed));
        assert_eq!((interview.changed().count(), interview.is_absent(0)), (0, false));
    }

    #[test]
    fn what_is_left_out_is_not_asked() {
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let recording = about(file.path());
        let mut interview = Interview::new(&recording, LastLinks::of_this_machine(), &mut || ());
        let left_out = [Place::LeftOut(super::super::survey::Reason::Device)];
        interview.compare(&left_out, &elsewhere(), &mut || ()).unwrap();
        assert_eq!(interview.disagreements().count() + interview.changed().count(), 0);
    }

    #[test]
    fn a_tree_that_changed_is_nobodys_fault() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let path = dir.path().join("late");
        let recording = about(&path);
        let mut interview = Interview::new(&recording, LastLinks::of_this_machine(), &mut || ());
        interview.compare(&ANSWERED, &elsewhere(), &mut || ()).unwrap();
        assert_eq!(interview.changed().count(), 0);
        std::fs::write(&path, "").unwrap();
        interview.compare(&ANSWERED, &elsewhere(), &mut || ()).unwrap();
        assert_eq!((interview.changed().count(), interview.disagreements().count()), (1, 0));
        assert!(interview.is_absent(0));
    }

    #[test]
    fn a_question_of_line_seven_keeps_its_line() {
        let trace = Trace::parse(b"/a\tF_OK\n/a\tF_OK\n/b\tF_OK").unwrap();
        let recording = recording_of(&trace, None);
        let lines: Vec<_> = recording.lookups.iter().map(|recorded| (recorded.line, recorded.answers.total())).collect();
        assert_eq!(lines, [(1, 2), (3, 1)]);
        assert_eq!(recording.sequence, [0, 0, 1]);
        let Question { line, .. } = trace.questions()[2];
        assert_eq!(line, 3);
    }
}
