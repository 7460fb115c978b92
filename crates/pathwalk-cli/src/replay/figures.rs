//! The counts of a recording and of its answers. All counts are of lookups, repeats included,
//! unless they say `distinct`.

use std::collections::{BTreeMap, HashMap, HashSet};

use pathwalk_recording::{Call, Recorded, Recording};

use super::names::NameId;
use super::question::join;
use super::survey::{End, Place, Reason, Survey};
use super::verdict::Interview;

/// The number of examples that are kept for each reason.
const EXAMPLES: usize = 3;

/// The lookups by one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallCount {
    pub(crate) lookups: u64,
    /// The lookups that the kernel now answers with `ENOENT`.
    pub(crate) absent: u64,
    pub(crate) distinct: u64,
}

impl CallCount {
    /// Returns the number of lookups that this call had asked before.
    pub(crate) fn repeats(&self) -> u64 {
        self.lookups - self.distinct
    }
}

/// A directory in which absent names were looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AbsentDirectory {
    pub(crate) path: Vec<u8>,
    pub(crate) lookups: u64,
    /// The number of different names.
    pub(crate) distinct: u64,
}

/// The lookups left out for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LeftOutCount {
    pub(crate) lookups: u64,
    /// The first few of them. None where the reason follows from the recording alone.
    pub(crate) examples: Vec<Vec<u8>>,
}

/// All counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Figures {
    /// The lookups answered on both sides.
    pub(crate) answered: u64,
    pub(crate) distinct_lookups: u64,
    pub(crate) distinct_paths: u64,
    /// The lookups that the kernel answered with `ENOENT`.
    pub(crate) absent: u64,
    /// The lookups whose recorded answer was another: present, absent, or another error.
    pub(crate) answers_changed: u64,
    /// The answered lookups, by call.
    pub(crate) calls: BTreeMap<Call, CallCount>,
    /// The directories with absent names, those with most lookups first.
    pub(crate) absent_directories: Vec<AbsentDirectory>,
    pub(crate) left_out: BTreeMap<Reason, LeftOutCount>,
}

impl Figures {
    /// Counts the lookups.
    pub(crate) fn count(recording: &Recording, survey: &Survey, interview: &Interview<'_>) -> Figures {
        let mut figures = Figures::default();
        for (reason, lookups) in &recording.tally.left_out {
            figures.left_out.entry(Reason::Recorded(*reason)).or_default().lookups += lookups;
        }
        let mut paths = HashSet::new();
        let mut absent_in: HashMap<NameId, (u64, HashSet<NameId>)> = HashMap::new();
        for (i, recorded) in recording.lookups.iter().enumerate() {
            let times = recorded.answers.total();
            match survey.places[i] {
                Place::LeftOut(reason) => figures.leave_out(reason, times, || shown_path(recording, recorded)),
                Place::At(end) => {
                    let is_absent = interview.is_absent(i);
                    figures.answer(recorded, interview.first()[i].is_ok(), is_absent);
                    paths.insert((recorded.lookup.start, &recorded.lookup.path));
                    if let Some(End { name, is_absent: true }) = end.filter(|_| is_absent) {
                        let (lookups, names) = absent_in.entry(survey.names.parent(name)).or_default();
                        *lookups += times;
                        names.insert(name);
                    }
                }
            }
        }
        figures.distinct_paths = paths.len() as u64;
        let directory = |(id, (lookups, names)): (NameId, (u64, HashSet<NameId>))| AbsentDirectory {
            path: survey.names.path(id),
            lookups,
            distinct: names.len() as u64,
        };
        figures.absent_directories = absent_in.into_iter().map(directory).collect();
        figures.absent_directories.sort_by(|a, b| b.lookups.cmp(&a.lookups).then_with(|| a.path.cmp(&b.path)));
        figures
    }

    fn leave_out(&mut self, reason: Reason, times: u64, example: impl FnOnce() -> Vec<u8>) {
        let count = self.left_out.entry(reason).or_default();
        count.lookups += times;
        if count.examples.len() < EXAMPLES {
            let example = example();
            if !count.examples.contains(&example) {
                count.examples.push(example);
            }
        }
    }

    fn answer(&mut self, recorded: &Recorded, is_fine: bool, is_absent: bool) {
        let (answers, times) = (recorded.answers, recorded.answers.total());
        let call = self.calls.entry(recorded.lookup.call).or_default();
        call.lookups += times;
        call.distinct += 1;
        self.answered += times;
        self.distinct_lookups += 1;
        if is_absent {
            call.absent += times;
            self.absent += times;
        }
        let told_the_same = match (is_fine, is_absent) {
            (true, _) if is_more_than_access(recorded.lookup.call) => answers.fine + answers.failed,
            (true, _) => answers.fine,
            (_, true) => answers.absent,
            _ => answers.failed,
        };
        self.answers_changed += times - answers.unknown - told_the_same;
    }

    /// Returns the number of lookups left out, for all reasons.
    pub(crate) fn left_out_in_all(&self) -> u64 {
        self.left_out.values().map(|count| count.lookups).sum()
    }

    /// Returns the number of all recorded lookups.
    pub(crate) fn lookups(&self) -> u64 {
        self.answered + self.left_out_in_all()
    }

    /// Returns the number of lookups that lead out of the tree of files: into proc, sysfs, to
    /// devices and over magic links.
    pub(crate) fn outside(&self) -> u64 {
        self.left_out.iter().filter(|(reason, _)| reason.is_outside()).map(|(_, count)| count.lookups).sum()
    }

    /// Returns the share of answered lookups among those that stay in the tree of files, 0 to 1.
    /// Returns 1 if there are none.
    pub(crate) fn answered_share(&self) -> f64 {
        let inside = self.lookups() - self.outside();
        if inside == 0 { 1.0 } else { self.answered as f64 / inside as f64 }
    }

    /// Returns the number of lookups that had been asked before.
    pub(crate) fn repeats(&self) -> u64 {
        self.answered - self.distinct_lookups
    }
}

/// Returns whether the call may fail although access is allowed: an open of a directory for
/// writing, an execution of a file that is not a program.
fn is_more_than_access(call: Call) -> bool {
    matches!(call, Call::Open | Call::Openat | Call::Openat2 | Call::Execve | Call::Execveat)
}

/// Returns the path of a lookup with its start, for people.
pub(crate) fn shown_path(recording: &Recording, recorded: &Recorded) -> Vec<u8> {
    match recorded.lookup.start {
        pathwalk_recording::Start::Directory(number) => join(&recording.starts[number as usize], &recorded.lookup.path),
        pathwalk_recording::Start::Root => recorded.lookup.path.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::Access;
    use pathwalk_recording::{Answers, Ids, Links, Lookup, Question, Start};

    use super::*;

    fn recorded(call: Call, answers: Answers) -> Recorded {
        let question = Question::Access { want: Access::READ, ids: Ids::Effective, links: Links::Follow };
        Recorded { lookup: Lookup { call, question, start: Start::Root, path: b"/a"[..].into() }, line: 1, answers }
    }

    #[test]
    fn an_answer_is_compared_with_what_the_program_was_told() {
        let answers = Answers { fine: 1, absent: 10, failed: 100, unknown: 1000 };
        let changed = |call, is_fine, is_absent| {
            let mut figures = Figures::default();
            figures.answer(&recorded(call, answers), is_fine, is_absent);
            assert_eq!((figures.answered, figures.repeats()), (1111, 1110));
            figures.answers_changed
        };
        assert_eq!(changed(Call::Stat, true, false), 110);
        assert_eq!(changed(Call::Stat, false, true), 101);
        assert_eq!(changed(Call::Stat, false, false), 11);
        assert_eq!(changed(Call::Openat, true, false), 10, "an open may fail though access is allowed");
    }

    #[test]
    fn examples_are_few_and_different() {
        let mut figures = Figures::default();
        for path in ["/a", "/a", "/b", "/c", "/d"] {
            figures.leave_out(Reason::Device, 2, || path.into());
        }
        let count = &figures.left_out[&Reason::Device];
        assert_eq!((count.lookups, &count.examples[..]), (10, &[b"/a".to_vec(), b"/b".to_vec(), b"/c".to_vec()][..]));
        assert_eq!((figures.lookups(), figures.outside(), figures.answered_share()), (10, 10, 1.0));
        figures.leave_out(Reason::DirectoryGone, 1, Vec::new);
        figures.answered = 3;
        assert_eq!((figures.lookups(), figures.outside(), figures.answered_share()), (14, 10, 0.75));
    }
}
