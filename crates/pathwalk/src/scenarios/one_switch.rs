//! A scheduler that switches once: the first thread takes some steps beside the others, the others
//! run to their end, and the first goes on. The next schedule switches one step later, until there
//! is no later step.
//!
//! Some races need one thread to sleep between two neighbouring loads while another executes a
//! whole operation. This scheduler meets them for certain, in as many schedules as the first thread
//! has steps.
//!
//! What it does not do: other threads that wait in a loop for the first thread let it go on, step
//! by step.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

use super::sticky::splitmix;

/// The number of yields of other threads before the first thread takes a step.
const PATIENCE: usize = 64;

#[derive(Default)]
pub(super) struct OneSwitch {
    /// The number of steps of the first thread beside the others before the switch, in the next
    /// schedule.
    next: usize,
    /// The same number in this schedule; the next field counts the steps that the first thread has
    /// taken.
    at: usize,
    steps: usize,
    yields: usize,
    /// The state of the generator for other random decisions: whether a weak exchange fails.
    random: u64,
}

impl Scheduler for OneSwitch {
    fn new_execution(&mut self) -> Option<Schedule> {
        let is_over = self.steps < self.at;
        (self.at, self.steps, self.yields) = (self.next, 0, 0);
        self.next += 1;
        (!is_over).then(|| Schedule::new(self.at as u64))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let ids = || runnable.iter().map(|task| task.id());
        let first = ids().find(|id| *id == TaskId::from(0));
        let others = || ids().filter(|id| Some(*id) != first);
        let Some(other) = others().next() else { return first };
        if first.is_some() && self.steps < self.at {
            self.steps += 1;
            return first;
        }
        self.yields += usize::from(is_yielding);
        if self.yields > PATIENCE {
            self.yields = 0;
            return first.or_else(|| others().find(|id| Some(*id) != current)).or(Some(other));
        }
        others().find(|id| Some(*id) == current).or(Some(other))
    }

    fn next_u64(&mut self) -> u64 {
        splitmix(&mut self.random)
    }
}
