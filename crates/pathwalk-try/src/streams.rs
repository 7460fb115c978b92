//! The standard streams of a command.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The standard streams of a command.
///
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use pathwalk_try::{Streams, Trial};
/// let mut trial = Trial::new("/srv", ["make"]);
/// let null = Arc::new(File::options().read(true).write(true).open("/dev/null")?.into());
/// trial.streams = Streams::Own([Arc::clone(&null), Arc::clone(&null), null]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Streams {
    /// The caller's.
    Callers,
    /// Standard input, standard output and standard error.
    Own([Arc<OwnedFd>; 3]),
}

impl Streams {
    pub(crate) fn all(&self) -> [BorrowedFd<'_>; 3] {
        match self {
            Streams::Callers => [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()],
            Streams::Own(streams) => [0, 1, 2].map(|number: usize| streams[number].as_fd()),
        }
    }

    /// Has a process get them.
    pub(crate) fn give(&self, command: &mut Command) -> std::io::Result<()> {
        if let Streams::Own([input, output, errors]) = self {
            let copy = |stream: &OwnedFd| stream.try_clone().map(Stdio::from);
            command.stdin(copy(input)?).stdout(copy(output)?).stderr(copy(errors)?);
        }
        Ok(())
    }
}
