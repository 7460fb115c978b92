//! A processor for the submitter, and another for the worker. The cost of a hop depends on where
//! the two run, and the scheduler would move them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that the threads of the bench are bound to. When this is dropped, the calling
/// thread may run anywhere again.
pub(super) struct Processors {
    all: CpuSet,
    /// The submitter's and the worker's processor, if there are two.
    own: Option<[CpuSet; 2]>,
}

impl Processors {
    /// Takes the first two processors that this thread may use. The thread stays on the first.
    pub(super) fn take() -> Processors {
        let all = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let mut each = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).map(|cpu| {
            let mut only = CpuSet::new();
            only.set(cpu);
            only
        });
        let own = each.next().zip(each.next()).map(|(submitter, worker)| [submitter, worker]);
        let own = own.filter(|[submitter, _]| sched_setaffinity(None, submitter).is_ok());
        Processors { all, own }
    }

    /// Returns whether there are two processors.
    pub(super) fn are_two(&self) -> bool {
        self.own.is_some()
    }

    /// Runs a function that starts a worker on the worker's processor: a thread inherits the
    /// processors of the thread that starts it.
    pub(super) fn beside<T>(&self, start: impl FnOnce() -> T) -> T {
        let Some([submitter, worker]) = &self.own else { return start() };
        // The call succeeded before, so it succeeds again.
        _ = sched_setaffinity(None, worker);
        let started = start();
        _ = sched_setaffinity(None, submitter);
        started
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        if self.are_two() {
            _ = sched_setaffinity(None, &self.all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_beside_and_everything_goes_back() {
        let before = sched_getaffinity(None).unwrap();
        let processors = Processors::take();
        let worker = processors.beside(|| std::thread::spawn(|| sched_getaffinity(None).unwrap()).join().unwrap());
        if processors.are_two() {
            let own = sched_getaffinity(None).unwrap();
            assert_eq!((own.count(), worker.count()), (1, 1));
            assert!(own != worker);
        }
        drop(processors);
        assert!(sched_getaffinity(None).unwrap() == before);
    }
}
