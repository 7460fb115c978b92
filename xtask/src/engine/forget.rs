//! The dropping of cached entries between steps, and reports that they changed, without cause: no
//! answer may change. An entry that is pinned stays cached, but not under its name.

use pathwalk::{AtFlags, Errno, Name, internals};

use super::Stage;
use crate::cast::ROOT;
use crate::outcome::directory_of;
use crate::program::{Settings, Step};
use crate::words::Slot;

impl Stage {
    /// Drops cached entries before a step. They follow from the step's text alone, so that a
    /// program that is shrunk goes on failing.
    pub(super) fn forget(&self, step: &Step) {
        let text = step.to_string();
        match text.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 8 {
            0 => self.vfs.invalidate_subtree(&self.top).expect("the whole tree is of this Vfs"),
            // The walk to a place may be an access.
            1 | 2 | 5 if self.settings.intersects(Settings::ACCESSES) => {}
            1 | 2 => step.op.places().into_iter().for_each(|(slot, path)| {
                // Most places are absent, or no entry has that name.
                _ = self.forget_name(step, slot, path);
            }),
            3 => _ = internals::evict(&self.vfs, usize::MAX),
            4 => self.vfs.invalidate_file_system(&self.top).expect("the top is of this Vfs"),
            5 => step.op.places().into_iter().for_each(|(slot, path)| _ = self.doubt(step, slot, path)),
            // A walk in the caches is none.
            6 => step.op.places().into_iter().for_each(|(_, path)| _ = self.vfs.invalidate_path(&self.top, path)),
            _ => {}
        }
    }

    /// Drops cached entries again and again, until `is_enough` returns true.
    pub(crate) fn disturb(&self, is_enough: impl Fn() -> bool) {
        let looking = &self.processes[ROOT.index()].looking;
        for turn in 0.. {
            if is_enough() {
                return;
            }
            match turn % 5 {
                4 => self.vfs.invalidate_file_system(&self.top).expect("the top is of this Vfs"),
                0 => self.vfs.invalidate_subtree(&self.top).expect("the whole tree is of this Vfs"),
                1 => _ = internals::evict(&self.vfs, usize::MAX),
                _ => {
                    // Directories and names come and go.
                    let dir = looking.lookup(["/", "/a", "/b"][turn / 5 % 3]);
                    let name = Name::new([b"a", b"c", b"d", b"e", b"f"][turn / 15 % 5]);
                    _ = dir.and_then(|dir| self.vfs.invalidate(&dir, name?));
                }
            }
            std::thread::yield_now();
        }
    }

    /// Drops the cached entry of a path's last component.
    fn forget_name(&self, step: &Step, slot: Option<Slot>, path: &[u8]) -> Result<(), Errno> {
        let name = path.split(|byte| *byte == b'/').rfind(|part| !part.is_empty()).unwrap_or_default();
        let looking = &self.processes[step.actor.index()].looking;
        let dir = looking.lookup_at(self.slots.at(slot), directory_of(path), AtFlags::empty())?;
        self.vfs.invalidate(&dir, Name::new(name)?)
    }

    /// Reports that the attributes of a path's node, and of its directory, changed.
    fn doubt(&self, step: &Step, slot: Option<Slot>, path: &[u8]) -> Result<(), Errno> {
        let looking = &self.processes[step.actor.index()].looking;
        let dir = looking.lookup_at(self.slots.at(slot), directory_of(path), AtFlags::empty())?;
        self.vfs.invalidate_attributes(&dir)?;
        let node = looking.lookup_at(self.slots.at(slot), path, AtFlags::SYMLINK_NOFOLLOW)?;
        self.vfs.invalidate_attributes(&node)
    }
}
