//! An answer: a header, and what follows, in one buffer that is written at once.
//!
//! What always holds: the buffer keeps its size, so that data is read into it without its being
//! cleared before.

use pathwalk::Errno;
use zerocopy::{Immutable, IntoBytes};

use crate::abi::OutHeader;

/// The length of the header in bytes.
const HEADER: usize = size_of::<OutHeader>();

/// The answer to one request.
pub(crate) struct Reply {
    buffer: Box<[u8]>,
    /// The bytes that are filled, the header's included.
    length: usize,
}

impl Reply {
    /// Makes a buffer for answers with so many bytes behind the header.
    pub(crate) fn new(most: usize) -> Reply {
        Reply { buffer: vec![0; HEADER + most].into(), length: HEADER }
    }

    /// Takes back all that was put.
    pub(crate) fn clear(&mut self) {
        self.length = HEADER;
    }

    /// Puts a structure; `ERANGE` where it does not fit.
    pub(crate) fn put(&mut self, value: &(impl IntoBytes + Immutable)) -> Result<(), Errno> {
        self.put_bytes(value.as_bytes())
    }

    /// Puts bytes; `ERANGE` where they do not fit.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let place = self.buffer.get_mut(self.length..self.length + bytes.len()).ok_or(Errno::ERANGE)?;
        place.copy_from_slice(bytes);
        self.length += bytes.len();
        Ok(())
    }

    /// Puts what a function writes into a place of at most `most` bytes. It returns how many.
    pub(crate) fn put_with(&mut self, most: usize, fill: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<(), Errno> {
        let room = self.buffer.len() - self.length;
        let place = &mut self.buffer[self.length..][..most.min(room)];
        self.length += fill(place)?;
        Ok(())
    }

    /// Puts zeroes until the length of the body is a multiple of 8.
    pub(crate) fn align(&mut self) -> Result<(), Errno> {
        let missing = self.length.wrapping_neg() % 8;
        self.put_bytes(&[0; 8][..missing])
    }

    /// Returns the number of bytes behind the header.
    pub(crate) fn body_length(&self) -> usize {
        self.length - HEADER
    }

    /// Fills in the header, and returns the message. An error has no body.
    pub(crate) fn finish(&mut self, unique: u64, result: Result<(), Errno>) -> &[u8] {
        let error = match result {
            Ok(()) => 0,
            Err(errno) => {
                self.clear();
                -errno.raw()
            }
        };
        let header = OutHeader { len: self.length as u32, error, unique };
        self.buffer[..HEADER].copy_from_slice(header.as_bytes());
        &self.buffer[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_length_and_an_error_no_body() {
        let mut reply = Reply::new(20);
        reply.put(&7_u32).unwrap();
        reply.put_with(5, |place| Ok(place.len())).unwrap();
        reply.align().unwrap();
        assert_eq!((reply.body_length(), reply.put_bytes(&[1; 5])), (16, Err(Errno::ERANGE)));
        assert_eq!(reply.finish(9, Ok(()))[..4], 32_u32.to_ne_bytes());
        let message = reply.finish(9, Err(Errno::ENOENT));
        assert_eq!((message.len(), &message[4..8]), (16, &(-2_i32).to_ne_bytes()[..]));
    }
}
