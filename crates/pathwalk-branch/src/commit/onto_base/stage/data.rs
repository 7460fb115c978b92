//! The data of files in the staging directory.
//!
//! What is in the store is written there. What is that of another file of the base is copied by the
//! kernel, so files share it where the file system of the base can do that.

use std::ops::Range;

use pathwalk::{Errno, File, FileType};

use super::super::apply::copy;
use super::super::hand::reserve;
use super::super::journal::{Fill, NewData};
use super::Stage;
use crate::branch::{BaseFiles, record};
use crate::extents::Extents;
use crate::origin::Origin;
use crate::rows::{Record, What};

/// The number of bytes that are copied at once.
const PIECE: u64 = 1 << 20;

impl Stage<'_> {
    /// Writes the new data of a file into the staging directory. `None` for a link.
    pub(super) fn new_data(&self, number: u64) -> Result<Option<NewData>, Errno> {
        let Some(record @ Record { origin: Some(origin), .. }) = record(self.plan.tree, number) else { return Ok(None) };
        if record.kind() != FileType::Regular {
            return Ok(None);
        }
        let (staged, ranges) = (format!("d{number}"), self.ranges(number, record, Some(origin)));
        self.write_ranges(&self.hand.make_file(self.staging, staged.as_bytes(), 0o600)?, number, &ranges)?;
        Ok(Some(NewData { size: record.attributes.size, ranges, staged }))
    }

    /// Writes the data of ranges to a file, at the same offsets.
    pub(super) fn write_ranges(&self, file: &File, number: u64, ranges: &[(u64, u64, Fill)]) -> Result<(), Errno> {
        let files = BaseFiles::default();
        for (offset, length, fill) in ranges {
            match fill {
                Fill::Hole => {}
                Fill::Reserved => reserve(file, *offset, *length)?,
                Fill::Data => self.write_data(file, &files, number, *offset..offset + length)?,
            }
        }
        Ok(())
    }

    /// Writes the data of a range to a file. What is that of another file of the base is shared
    /// with it, if the file system of the base can do that.
    fn write_data(&self, file: &File, files: &BaseFiles, number: u64, range: Range<u64>) -> Result<(), Errno> {
        let mut buffer = Vec::new();
        for (part, what) in Extents::new(self.plan.tree, number).within(range) {
            if let What::Base(origin, from) = &what
                && self.copy_of_base((files, origin, *from), file, &part)?
            {
                continue;
            }
            for at in part.clone().step_by(PIECE as usize) {
                buffer.resize((part.end - at).min(PIECE) as usize, 0);
                let read = self.plan.inner.read_in(self.plan.tree, files, number, &mut buffer, at)?;
                file.write_all_at(&buffer[..read], at)?;
            }
        }
        Ok(())
    }

    /// Copies data of a file of the base from an offset on. Returns false if the kernel cannot copy
    /// it, as from another file system.
    fn copy_of_base(
        &self,
        (files, origin, from): (&BaseFiles, &Origin, u64),
        file: &File,
        part: &Range<u64>,
    ) -> Result<bool, Errno> {
        let source = files.get(self.plan.base, &origin.handle(self.plan.base)?)?;
        let copied = copy((&source, from), (file, part.start), part.end - part.start);
        if let Err(Errno::EXDEV | Errno::EOPNOTSUPP | Errno::EINVAL) = copied {
            return Ok(false);
        }
        // What was copied before was of the version that is there now.
        self.plan.base.check_unchanged(origin)?;
        copied.map(|()| true)
    }

    /// Returns the ranges in which a file differs from the node of the base that it was copied
    /// from, or from an empty one.
    pub(super) fn ranges(&self, number: u64, record: &Record, origin: Option<&Origin>) -> Vec<(u64, u64, Fill)> {
        let (size, mut end, mut ranges) = (record.attributes.size, 0, Vec::new());
        let mut add = |from: u64, to: u64, fill| ranges.extend((from < to).then_some((from, to - from, fill)));
        for (part, what) in Extents::new(self.plan.tree, number).within(0..size) {
            add(end, part.start, Fill::Hole);
            match what {
                What::Base(of, from) if origin.is_some_and(|origin| *of == *origin) && from == part.start => {}
                What::Base(..) | What::Blob(..) => add(part.start, part.end, Fill::Data),
                What::Zeroes => add(part.start, part.end, Fill::Hole),
                What::Reserved => add(part.start, part.end, Fill::Reserved),
            }
            end = part.end;
        }
        add(end, size, Fill::Hole);
        ranges
    }
}
