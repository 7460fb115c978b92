//! A scheduler that lets a thread run for a while, in bursts whose mean length differs between
//! schedules.
//!
//! Many races need one thread to sleep between two neighbouring loads while another executes a
//! whole operation. A scheduler that may switch at each step hardly ever tries that.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

pub(super) struct Sticky {
    random: u64,
    left: usize,
    /// The mean number of steps between switches.
    burst: u64,
}

impl Sticky {
    pub(super) fn new(seed: u64, iterations: usize) -> Sticky {
        Sticky { random: seed, left: iterations, burst: 1 }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }
}

impl Scheduler for Sticky {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        self.burst = [1, 4, 16, 64, 256][self.below(5) as usize];
        let seed = self.next_u64();
        Some(Schedule::new(seed))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let stays = !is_yielding && self.below(self.burst) != 0;
        if stays && let Some(current) = current.filter(|id| runnable.iter().any(|task| task.id() == *id)) {
            return Some(current);
        }
        let others: Vec<_> = runnable.iter().map(|task| task.id()).filter(|id| !is_yielding || Some(*id) != current).collect();
        if others.is_empty() { current } else { Some(others[self.below(others.len() as u64) as usize]) }
    }

    fn next_u64(&mut self) -> u64 {
        splitmix(&mut self.random)
    }
}

/// Returns the next number of the splitmix64 sequence.
pub(super) fn splitmix(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*random ^ *random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
