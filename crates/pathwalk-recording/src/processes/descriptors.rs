//! The descriptors of one process, as far as it is known what they lead to.
//!
//! A descriptor that is not in the table is unknown. In a recording with `-y` the table stays
//! empty, since the calls themselves contain the paths.

use crate::calls::OnExec;

/// The directory that a descriptor leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Descriptor {
    /// The number of the path by which it was opened.
    pub(crate) directory: u32,
    pub(crate) on_exec: OnExec,
}

/// The highest descriptor that is followed, so that a wrong number costs no memory. Source: the
/// kernel's default `fs.nr_open`.
const HIGHEST: usize = 1 << 20;

#[derive(Clone, Default, Debug)]
pub(crate) struct Descriptors(Vec<Option<Descriptor>>);

impl Descriptors {
    pub(crate) fn get(&self, fd: i32) -> Option<Descriptor> {
        *self.0.get(usize::try_from(fd).ok()?)?
    }

    /// Sets what a descriptor leads to. `None` means that it is closed, or that its directory is
    /// not known.
    pub(crate) fn set(&mut self, fd: i32, descriptor: Option<Descriptor>) {
        let Ok(fd) = usize::try_from(fd) else { return };
        if descriptor.is_some() && fd >= self.0.len() && fd <= HIGHEST {
            self.0.resize(fd + 1, None);
        }
        if let Some(place) = self.0.get_mut(fd) {
            *place = descriptor;
        }
    }

    /// Sets the fate of a descriptor at an exec, as `F_SETFD` does.
    pub(crate) fn set_on_exec(&mut self, fd: i32, on_exec: OnExec) {
        if let Some(descriptor) = self.get(fd) {
            self.set(fd, Some(Descriptor { on_exec, ..descriptor }));
        }
    }

    /// Calls `change` for each known descriptor from `first` to `last`.
    pub(crate) fn for_range(&mut self, first: u32, last: u32, mut change: impl FnMut(Descriptor) -> Option<Descriptor>) {
        let end = self.0.len().min((last as usize).saturating_add(1));
        for place in self.0.get_mut(first as usize..end).unwrap_or_default() {
            *place = place.and_then(&mut change);
        }
    }

    /// Closes the descriptors that are closed when a program is executed.
    pub(crate) fn execute(&mut self) {
        self.for_range(0, u32::MAX, |descriptor| (descriptor.on_exec == OnExec::Keep).then_some(descriptor));
    }
}

impl PartialEq for Descriptors {
    fn eq(&self, other: &Descriptors) -> bool {
        let known = |of: &Descriptors| of.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.0[..known(self)] == other.0[..known(other)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn life_of_descriptors() {
        let descriptor = |directory, on_exec| Some(Descriptor { directory, on_exec });
        let mut table = Descriptors::default();
        table.set(3, descriptor(1, OnExec::Keep));
        table.set(5, descriptor(2, OnExec::Close));
        table.set(-1, descriptor(3, OnExec::Keep));
        table.set(i32::MAX, descriptor(3, OnExec::Keep));
        assert_eq!(
            (table.get(3), table.get(4), table.get(-1), table.get(i32::MAX)),
            (descriptor(1, OnExec::Keep), None, None, None)
        );
        table.execute();
        assert_eq!((table.get(3), table.get(5)), (descriptor(1, OnExec::Keep), None));
        table.set_on_exec(3, OnExec::Close);
        table.set_on_exec(9, OnExec::Close);
        table.for_range(4, u32::MAX, |_| None);
        assert_eq!(table.get(3), descriptor(1, OnExec::Close));
        table.for_range(3, 3, |_| None);
        table.for_range(9, 3, |_| None);
        assert_eq!(table, Descriptors::default());
    }
}
