//! The reasons that a command was not run.

use pathwalk_fuse::MountError;

/// The reason that a command was not run.
///
/// ```
/// let error = pathwalk_try::Trial::new("/no/such", ["true"]).run(|_, _| Ok(())).unwrap_err();
/// assert_eq!(error.to_string(), "no program is named for the inner process");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// [`Trial::program`](crate::Trial::program) or [`Trial::command`](crate::Trial::command) is
    /// empty.
    #[error("no {0} is named for the inner process")]
    Unnamed(&'static str),
    /// A directory is one of the standard streams. From it, the command would reach all that is
    /// above it.
    #[error("{0} is a directory; a command must not get one from outside")]
    Directory(&'static str),
    /// No cgroup can be made that has the limits of the command.
    #[error(
        "the command cannot be limited: {0}; start it in a cgroup that you may write to \
         (systemd-run --user --scope pathwalk try ...), or have that one limited \
         (systemd-run --user --scope -p MemoryMax=2G -p TasksMax=200 pathwalk try ...)"
    )]
    Limits(String),
    /// A step outside failed.
    #[error("{doing}: {error}")]
    Outside {
        /// The step.
        doing: &'static str,
        /// Its error.
        error: std::io::Error,
    },
    /// A step inside failed.
    #[error("{0}")]
    Inside(String),
    /// The branch could not be served.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The inner process ended, and did not say why.
    #[error("the process that prepares the command was killed")]
    Lost,
}

impl Error {
    pub(crate) fn outside<E: Into<std::io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
        move |error| Error::Outside { doing, error: error.into() }
    }
}

/// The reason that a step inside failed.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was done when an error came.
pub(crate) trait While<T> {
    fn doing(self, what: impl std::fmt::Display) -> Result<T, Failed>;
}

impl<T, E: std::fmt::Display> While<T> for Result<T, E> {
    fn doing(self, what: impl std::fmt::Display) -> Result<T, Failed> {
        self.map_err(|error| Failed(format!("{what}: {error}")))
    }
}
