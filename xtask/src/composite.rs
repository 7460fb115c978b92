//! The operations that are made of others, and those whose answer may be left open.
//!
//! Their parts are defined here once. Each interpreter carries the parts out as its own operations.

use pathwalk::{Errno, OpenFlags};

use crate::helpers;
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Body, Kind, Mode, Place, Slot, Text};

/// Returns the name with this number that `fill` makes: all begin alike and end in at least three
/// digits.
pub(crate) fn filled(index: u64, length: u64) -> Vec<u8> {
    let digits = format!("{index:03}");
    let mut name = vec![b'x'; (length as usize).saturating_sub(digits.len())];
    name.extend_from_slice(digits.as_bytes());
    name
}

/// Returns the name that `dig` gives to each directory.
pub(crate) fn dug(length: u64) -> Vec<u8> {
    vec![b'd'; length.max(1) as usize]
}

impl Op {
    /// Returns the parts of a composite operation. They run until one fails; the answer is the
    /// number that succeeded.
    pub(crate) fn parts(&self) -> Option<Vec<Op>> {
        match self {
            Op::Fill { at, count, length } => {
                let file = |index| Op::Mknod { at: below(at, &filled(index, *length)), kind: Kind::File, mode: Mode(0o644) };
                Some((0..*count).map(file).collect())
            }
            Op::Dig { at, count, length } => {
                let mut deepest = at.clone();
                let directory = |_| {
                    deepest = below(&deepest, &dug(*length));
                    Op::Mkdir { at: deepest.clone(), mode: Mode(0o755) }
                };
                Some((0..*count).map(directory).collect())
            }
            _ => None,
        }
    }

    /// Returns the answer as it is compared. Where an operation may have to wait and answers that
    /// it would, any other answer is as good: the kernel's caches answer `EAGAIN` to operations
    /// that the engine's caches refuse at once. The comparison with the model, which never waits,
    /// checks that such a refusal is right.
    pub(crate) fn settled(&self, answer: Answer) -> Answer {
        let never_waits = OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::TMPFILE;
        match (self, answer) {
            (Op::TryOpen { flags, .. }, Answer::Failed(Errno::EAGAIN)) if !flags.intersects(never_waits) => Answer::Again,
            (Op::TryReadAt { .. }, Answer::Failed(Errno::EAGAIN)) => Answer::Again,
            (Op::RemoveDirAll { .. }, answer) => helpers::refused(answer),
            (_, answer) => answer,
        }
    }
}

/// Carries out all parts until one fails. Returns the number that succeeded, or the error if the
/// first one failed.
pub(crate) fn all_parts<E>(parts: &[Op], mut one: impl FnMut(&Op) -> Result<Answer, E>) -> Result<Answer, E> {
    for (done, part) in parts.iter().enumerate() {
        match one(part) {
            Err(why) if done == 0 => return Err(why),
            Err(_) => return Ok(Answer::Number(done as u64)),
            Ok(_) => {}
        }
    }
    Ok(Answer::Number(parts.len() as u64))
}

/// Returns the changes that `listparts` makes between the parts: a name is made, moved and removed.
pub(crate) fn changes(slot: Slot, name: &Body, to: &Body) -> [Op; 3] {
    let at = |name: &Body| Place { at: Some(slot), path: Text(name.0.clone()) };
    [
        Op::Mknod { at: at(name), kind: Kind::File, mode: Mode(0o644) },
        Op::Rename { from: at(name), to: at(to), flags: pathwalk::RenameFlags::empty() },
        Op::Unlink { at: at(to) },
    ]
}

fn below(Place { at, path }: &Place, name: &[u8]) -> Place {
    let between: &[u8] = if path.0.is_empty() || path.0.last() == Some(&b'/') { b"" } else { b"/" };
    Place { at: *at, path: Text([&path.0, between, name].concat()) }
}

#[cfg(test)]
mod tests {
    use crate::program::Step;

    #[test]
    fn parts_are_operations() {
        let parts = |line: &str| {
            let step: Step = line.parse().expect("a step");
            let parts = step.op.parts().expect("it is made of others");
            parts.into_iter().map(|op| Step { op, ..step.clone() }.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(parts(r#"root fill "a" 2 5"#), [r#"root mknod "a/xx000" file 0644"#, r#"root mknod "a/xx001" file 0644"#]);
        assert_eq!(parts(r#"root dig 0:"/" 2 1"#), [r#"root mkdir 0:"/d" 0755"#, r#"root mkdir 0:"/d/d" 0755"#]);
    }
}
