//! A request: its header, and what follows.

use pathwalk::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::{InHeader, Opcode};

/// A request that was read.
pub(crate) struct Request<'a> {
    pub(crate) header: InHeader,
    pub(crate) body: Body<'a>,
}

/// The rest of a request, which is taken from the front.
pub(crate) struct Body<'a>(&'a [u8]);

impl<'a> Request<'a> {
    /// Splits a message into header and body. `None` for one that is cut off.
    pub(crate) fn parse(message: &'a [u8]) -> Option<Request<'a>> {
        let (header, rest) = InHeader::read_from_prefix(message).ok()?;
        // Extensions stand behind the body, and none of them was negotiated.
        let length = (header.len as usize).checked_sub(size_of::<InHeader>() + usize::from(header.total_extlen) * 8)?;
        Some(Request { header, body: Body(rest.get(..length)?) })
    }

    /// Returns what is requested; `ENOSYS` if that is not known.
    pub(crate) fn opcode(&self) -> Result<Opcode, Errno> {
        Opcode::from_number(self.header.opcode).ok_or(Errno::ENOSYS)
    }
}

impl<'a> Body<'a> {
    /// Takes a structure; `EINVAL` if the request is too short for it.
    pub(crate) fn take<T: FromBytes>(&mut self) -> Result<T, Errno> {
        let (taken, rest) = T::read_from_prefix(self.0).map_err(|_| Errno::EINVAL)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes what the sender may have left out at the end, which is zero then.
    pub(crate) fn take_padded<T: FromBytes + IntoBytes + Immutable + KnownLayout + Default>(&mut self) -> T {
        let mut taken = T::default();
        let bytes = taken.as_mut_bytes();
        let length = bytes.len().min(self.0.len());
        bytes[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        taken
    }

    /// Takes a text that ends in a zero.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Errno> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Errno::EINVAL)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    /// Takes so many bytes.
    pub(crate) fn bytes(&mut self, length: u32) -> Result<&'a [u8], Errno> {
        let (taken, rest) = self.0.split_at_checked(length as usize).ok_or(Errno::EINVAL)?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{GetXattrIn, RenameIn};

    #[test]
    fn a_request_is_taken_apart() {
        let header = InHeader { len: 40 + 8 + 6, opcode: 12, unique: 7, ..InHeader::default() };
        let message = [header.as_bytes(), 9_u64.as_bytes(), b"a\0bcd\0", b"behind it"].concat();
        let mut request = Request::parse(&message).unwrap();
        assert_eq!((request.opcode(), request.header.unique), (Ok(Opcode::Rename), 7));
        assert_eq!(request.body.take::<RenameIn>().unwrap().newdir, 9);
        assert_eq!((request.body.text(), request.body.text()), (Ok(&b"a"[..]), Ok(&b"bcd"[..])));
        assert_eq!((request.body.text(), request.body.bytes(1)), (Err(Errno::EINVAL), Err(Errno::EINVAL)));
        assert!(request.body.take::<RenameIn>().is_err());
        assert!(Request::parse(&message[..50]).is_none() && Request::parse(&[]).is_none());
    }

    #[test]
    fn a_short_structure_is_filled_with_zeroes() {
        let mut body = Body(&[5, 0, 0, 0]);
        assert_eq!(body.take_padded::<GetXattrIn>().size.to_le(), 5);
        assert_eq!(body.take_padded::<GetXattrIn>().size, 0);
    }
}
