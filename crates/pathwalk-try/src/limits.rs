//! What a command may take of the machine, and which of these limits it met.

/// What a command may take, with all that it starts. The kernel keeps account of it in a cgroup.
///
/// ```
/// use pathwalk_try::{Limits, Trial};
/// let mut trial = Trial::new("/srv", ["make"]);
/// assert_eq!(trial.limits, Limits::default());
/// trial.limits.memory = Some(2 << 30);
/// trial.limits.processes = Some(200);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of memory: that of its processes, what it has written to directories in
    /// memory, and cached files. A command that needs more is ended as a whole.
    pub memory: Option<u64>,
    /// The most processes and threads at once. More are refused (`EAGAIN`).
    pub processes: Option<u64>,
}

/// The limits that a command met.
///
/// [`Outcome`](crate::Outcome) has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Met {
    /// It needed more memory, and was ended.
    pub memory: bool,
    /// It was refused a process or a thread.
    pub processes: bool,
}

impl Limits {
    /// Returns the controllers of cgroups that they need.
    pub(crate) fn controllers(&self) -> Vec<&'static str> {
        let memory = self.memory.map(|_| "memory");
        memory.into_iter().chain(self.processes.map(|_| "pids")).collect()
    }
}
