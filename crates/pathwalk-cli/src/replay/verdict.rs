//! Whether the engine and the kernel agree.
//!
//! Where they do not, both are asked again, the engine with empty caches. If the kernel answered differently at any time since
//! the start, the tree was changed meanwhile and nobody is to blame; else it is a disagreement.

use std::collections::BTreeMap;

use pathwalk::{Context, Errno};
use pathwalk_bench::kernel::KernelQuestion;
use pathwalk_bench::machine::{self, LastLinks, SetUpError};
use pathwalk_bench::trace::Question;

/// What was answered.
pub(crate) type Answer = Result<(), Errno>;

/// What became of answers that differed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The kernel's own answer changed meanwhile.
    Changed,
    /// One of the two is wrong.
    Disagreement,
}

/// One lookup about which the two differed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding<'a> {
    pub(crate) question: &'a Question,
    pub(crate) ours: Answer,
    pub(crate) kernel: Answer,
    /// The engine's answer with empty caches.
    pub(crate) fresh: Answer,
    pub(crate) verdict: Verdict,
}

/// Both sides' answers.
pub(crate) struct Interview<'a> {
    links: LastLinks,
    questions: &'a [Question],
    prepared: Vec<KernelQuestion>,
    /// What the kernel said before the engine loaded anything.
    first: Vec<Answer>,
    /// By place in the trace, so that a lookup is found once.
    findings: BTreeMap<usize, Finding<'a>>,
}

impl<'a> Interview<'a> {
    /// Asks the kernel everything once.
    pub(crate) fn new(questions: &'a [Question], links: LastLinks) -> Interview<'a> {
        let prepared: Vec<KernelQuestion> = questions.iter().map(KernelQuestion::from).collect();
        let first = prepared.iter().map(KernelQuestion::ask).collect();
        Interview { links, questions, prepared, first, findings: BTreeMap::new() }
    }

    /// How many lookups the kernel answered with `ENOENT`.
    pub(crate) fn absent(&self) -> usize {
        self.first.iter().filter(|answer| **answer == Err(Errno::ENOENT)).count()
    }

    /// Asks both everything and looks into what differs.
    pub(crate) fn compare(&mut self, context: &Context) -> Result<(), SetUpError> {
        let differing: Vec<_> = (0..self.questions.len())
            .map(|i| (i, ask(context, &self.questions[i]), self.prepared[i].ask()))
            .filter(|(_, ours, kernel)| ours != kernel)
            .collect();
        if differing.is_empty() {
            return Ok(());
        }
        let fresh = machine::host(self.links)?;
        for (i, ours, kernel) in differing {
            let finding = self.look_into(i, ours, kernel, &fresh);
            let kept = self.findings.entry(i).or_insert(finding);
            if finding.verdict == Verdict::Disagreement {
                *kept = finding;
            }
        }
        Ok(())
    }

    fn look_into(&self, i: usize, ours: Answer, kernel: Answer, fresh: &Context) -> Finding<'a> {
        let question = &self.questions[i];
        let fresh = ask(fresh, question);
        let still = self.prepared[i].ask() == kernel && self.first[i] == kernel;
        let verdict = if still { Verdict::Disagreement } else { Verdict::Changed };
        Finding { question, ours, kernel, fresh, verdict }
    }

    /// Lookups that one side answered wrongly, in the order of the trace.
    pub(crate) fn disagreements(&self) -> impl Iterator<Item = &Finding<'a>> {
        self.findings.values().filter(|finding| finding.verdict == Verdict::Disagreement)
    }

    /// Lookups whose right answer changed meanwhile, in the order of the trace.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Finding<'a>> {
        self.findings.values().filter(|finding| finding.verdict == Verdict::Changed)
    }
}

fn ask(context: &Context, question: &Question) -> Answer {
    context.access(&question.path[..], question.want)
}

/// An answer in a word.
pub(crate) fn word(answer: Answer) -> String {
    match answer {
        Ok(()) => "ok".into(),
        Err(errno) => errno.name().map_or_else(|| format!("errno {}", errno.raw()), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::{Access, Credentials};
    use pathwalk_bench::listing::Listing;

    use super::*;

    /// An engine over a tree that is not this machine's: there is nothing in its `/tmp`.
    fn elsewhere() -> Context {
        machine::over(Listing::gcc(), Credentials::root()).unwrap()
    }

    fn about(path: &std::path::Path) -> [Question; 1] {
        [Question { line: 7, path: path.as_os_str().as_encoded_bytes().into(), want: Access::empty() }]
    }

    #[test]
    fn a_wrong_answer_is_a_disagreement_once() {
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let questions = about(file.path());
        let mut interview = Interview::new(&questions, LastLinks::of_this_machine());
        interview.compare(&elsewhere()).unwrap();
        interview.compare(&elsewhere()).unwrap();
        let found: Vec<_> = interview.disagreements().collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].ours, found[0].kernel, found[0].fresh), (Err(Errno::ENOENT), Ok(()), Ok(())));
        assert_eq!((interview.changed().count(), interview.absent()), (0, 0));
    }

    #[test]
    fn a_tree_that_changed_is_nobodys_fault() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let path = dir.path().join("late");
        let questions = about(&path);
        let mut interview = Interview::new(&questions, LastLinks::of_this_machine());
        interview.compare(&elsewhere()).unwrap();
        assert_eq!(interview.changed().count(), 0);
        std::fs::write(&path, "").unwrap();
        interview.compare(&elsewhere()).unwrap();
        assert_eq!((interview.changed().count(), interview.disagreements().count(), interview.absent()), (1, 0, 1));
    }
}
