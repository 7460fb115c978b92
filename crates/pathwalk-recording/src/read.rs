//! The entry point: reads a whole recording.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::ReadError;
use crate::input::Input;
use crate::kind::Kind;
use crate::reader::Reader;
use crate::recording::Recording;

/// The options for reading.
///
/// [`Recording`] has an example.
#[derive(Default)]
pub struct Options<'a> {
    /// The absolute path of the directory in which the first process of the recording starts.
    /// Without it, lookups of relative paths are left out until the recording shows where their
    /// process is.
    pub cwd: Option<PathBuf>,
    /// A function that is called now and then with the number of bytes that were read so far. These
    /// are packed bytes if the source is packed.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

impl Recording {
    /// Reads the output of strace, plain or packed with gzip.
    ///
    /// # Errors
    ///
    /// If the source is not a recording at all, if reading fails, or if [`Options::cwd`] is
    /// relative. Lines that cannot be read are counted instead.
    ///
    /// [`Recording`] has an example.
    pub fn read(source: impl Read, options: Options<'_>) -> Result<Recording, ReadError> {
        Recording::read_input(Input::new(source)?, options)
    }

    /// Reads a recording from an input whose beginning was already looked at.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    ///
    /// [`Input`] has an example.
    pub fn read_input<R: Read>(mut input: Input<R>, mut options: Options<'_>) -> Result<Recording, ReadError> {
        if let Some(cwd) = options.cwd.take_if(|cwd| !cwd.is_absolute()) {
            return Err(ReadError::RelativeDirectory(cwd));
        }
        if input.kind() != Kind::Strace {
            return Err(input.not_readable());
        }
        let mut reader = Reader::new(options.cwd.as_ref().map(|cwd| cwd.as_os_str().as_bytes()));
        input.lines(
            |line| reader.line(line),
            |input| {
                if let Some(progress) = &mut options.progress {
                    progress(input.bytes_read());
                }
            },
        )?;
        Ok(reader.finish(input.unpacked(), input.take_cut_short()))
    }
}
