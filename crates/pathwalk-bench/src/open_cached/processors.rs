//! A processor for who submits, and another for the worker: what a hop costs depends on where the two are, and the scheduler moves them about.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where the threads of the bench are kept. The calling thread may run anywhere again when this is dropped.
pub(super) struct Processors {
    all: CpuSet,
    /// The submitter's and the worker's, if there are two.
    own: Option<[CpuSet; 2]>,
}

impl Processors {
    /// The first two that this thread may use. It stays on the first.
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

    /// Whether there are two.
    pub(super) fn are_two(&self) -> bool {
        self.own.is_some()
    }

    /// Runs what starts a worker: threads stay where the one is that starts them.
    pub(super) fn beside<T>(&self, start: impl FnOnce() -> T) -> T {
        let Some([submitter, worker]) = &self.own else { return start() };
        // What was allowed once is allowed again.
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
