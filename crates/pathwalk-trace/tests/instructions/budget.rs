//! The budget of the hit path: `hit-path.budget`, which explains itself.

use std::error::Error;

/// The path of the file, from the root of the repository.
pub(crate) const FILE: &str = "crates/pathwalk-trace/hit-path.budget";

const TEXT: &str = include_str!("../../hit-path.budget");

/// The entries for this processor.
#[derive(Debug)]
pub(crate) struct Budget(Vec<(&'static str, u64)>);

impl Budget {
    /// Reads the file that this program was built with.
    pub(crate) fn read() -> Result<Budget, Box<dyn Error>> {
        let mut entries = Vec::new();
        for (line, number) in TEXT.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = line.split_whitespace().collect();
            let malformed = || format!("{FILE}, line {number}: a line is PROCESSOR SUBJECT INSTRUCTIONS");
            match fields[..] {
                [] => {}
                [processor, subject, most] => {
                    let most = most.parse().map_err(|_| malformed())?;
                    if processor == std::env::consts::ARCH {
                        entries.push((subject, most));
                    }
                }
                _ => return Err(malformed().into()),
            }
        }
        Ok(Budget(entries))
    }

    /// Returns the budget for something that costs this much: 2 % more.
    pub(crate) fn for_cost(cost: u64) -> u64 {
        cost + cost / 50
    }

    /// Returns the largest allowed cost of one pass over a subject, `None` if it was not measured
    /// on this processor yet.
    pub(crate) fn of(&self, subject: &str) -> Option<u64> {
        self.0.iter().find(|(name, _)| *name == subject).map(|(_, most)| *most)
    }
}
