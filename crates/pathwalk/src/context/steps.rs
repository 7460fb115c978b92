//! The lookup of a path, step by step, with handles.

use std::cell::RefCell;

use super::{At, Context};
use crate::Errno;
use crate::abi::AtFlags;
use crate::handle::Handle;
use crate::mount::PinnedPlace;
use crate::ops;
use crate::walk::steps::{self, Listener};

/// A lookup, step by step. Made by [`Context::steps`](crate::Context::steps).
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs, What};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.symlink("gone", "/link")?;
/// let steps = context.steps("/link");
/// assert_eq!(steps.answer.unwrap_err(), Errno::ENOENT);
/// for step in &steps.steps {
///     println!("{:depth$}{:?}", "", step.what, depth = step.depth);
/// }
/// let last = steps.steps.last().unwrap();
/// assert!(matches!(&last.what, What::Absent { name, .. } if **name == *b"gone") && last.depth == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Steps {
    /// The steps, in the order in which they were taken. Empty if the path is refused before the
    /// first step, for example because it is too long.
    pub steps: Vec<Step>,
    /// The result of the lookup.
    pub answer: Result<Handle, Errno>,
}

/// One step of a walk.
///
/// [`Steps`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// The number of nested bodies of links in which the step is taken: 0 is the path itself.
    pub depth: usize,
    /// The kind of the step.
    pub what: What,
}

/// A step of a walk, with handles as places.
///
/// [`Steps`] has an example.
pub type What = steps::What<Handle>;

/// A listener that records the steps of a walk.
struct Told<'a> {
    context: &'a Context,
    steps: RefCell<Vec<Step>>,
}

impl Listener for Told<'_> {
    fn step(&self, depth: usize, what: steps::What<PinnedPlace<'_>>) {
        let what = what.map(|place| Handle::from_pinned(self.context.vfs(), place));
        self.steps.borrow_mut().push(Step { depth, what });
    }

    fn begin_anew(&self) {
        self.steps.borrow_mut().clear();
    }
}

pub(super) fn steps(context: &Context, at: At<'_>, path: &[u8], flags: AtFlags) -> Steps {
    let told = Told { context, steps: RefCell::default() };
    let found = ops::steps::steps(&context.asker, context.begin(at), path, flags, &told);
    let answer = found.map(|found| Handle::from_pinned(context.vfs(), found));
    Steps { steps: told.steps.into_inner(), answer }
}
