//! The front door: a whole recording is read.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::ReadError;
use crate::input::Input;
use crate::kind::Kind;
use crate::reader::Reader;
use crate::recording::Recording;

/// How to read.
#[derive(Default)]
pub struct Options<'a> {
    /// Where the first process of the recording starts: an absolute path. Without it, relative paths are left out until the recording
    /// says where their process is.
    pub cwd: Option<PathBuf>,
    /// Is called now and then with the bytes that were read so far; packed ones, if they are packed.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

impl Recording {
    /// Reads what strace wrote, plain or packed with gzip.
    ///
    /// # Errors
    ///
    /// If it is no recording at all, if reading fails, or if [`Options::cwd`] is relative. Lines that cannot be read are counted instead.
    pub fn read(source: impl Read, options: Options<'_>) -> Result<Recording, ReadError> {
        Recording::read_input(Input::new(source)?, options)
    }

    /// The same, if the beginning was already looked at.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
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
