//! A scheduler that switches once: the first thread takes some steps beside the others, these run to
//! their end, and it goes on. The next schedule switches one step later, until there is none.
//!
//! So a race that needs one thread to sleep between two neighbouring loads while another does all of
//! an operation is met for certain, in as many schedules as the first thread has steps.
//!
//! What it does not do: others that wait in a loop for the first thread let it go on, step by step.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

use super::sticky::splitmix;

/// So often others yield before the first thread takes a step.
const PATIENCE: usize = 64;

#[derive(Default)]
pub(super) struct OneSwitch {
    /// Steps of the first thread beside others until the switch; of the next schedule.
    next: usize,
    /// Those of this schedule, and how many of them it has taken.
    at: usize,
    steps: usize,
    yields: usize,
    /// For what else is left to chance: whether a weak exchange fails.
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
