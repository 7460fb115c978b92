//! The drawing of operations on extended attributes.

use pathwalk::{AtFlags, XattrFlags};

use super::Draw;
use crate::op::Op;
use crate::words::Body;

/// The lengths of values about the limit, in bytes.
const LONGEST: [usize; 2] = [1 << 16, (1 << 16) + 1];

/// The heads of file capabilities: revision 2 and 3, effective or not; and one that is none.
const HEADS: [[u8; 4]; 5] = [[0, 0, 0, 2], [1, 0, 0, 2], [0, 0, 0, 3], [1, 0, 0, 3], [2, 0, 0, 2]];

impl Draw {
    /// Draws an operation on the attributes of a node or of an open file.
    pub(super) fn xattr(&mut self) -> Op {
        let flags = self.at_flags(3);
        let flags = if self.one_in(20) { flags } else { flags - AtFlags::EACCESS };
        let at = self.place_or_start(flags.contains(AtFlags::EMPTY_PATH));
        let name = self.xattr_name();
        match self.rng.u8(..16) {
            0..8 => {
                let how: XattrFlags = if self.one_in(3) { self.flags(2) } else { XattrFlags::empty() };
                let value = Body(match &name.0[..] {
                    b"security.capability" => self.capability(),
                    list if list.starts_with(b"system.posix_acl_") => self.list_value(),
                    _ => self.xattr_value(),
                });
                Op::SetXattr { at, name, value, how, flags }
            }
            8..11 => Op::GetXattr { at, name, size: self.among(&[0, 0, 1, 19, 20, 24, 100, 65_535, 65_536, 70_000]), flags },
            11..14 => Op::ListXattr { at, flags },
            _ => Op::RemoveXattr { at, name, flags },
        }
    }

    fn xattr_name(&mut self) -> Body {
        let name: &[u8] = match self.rng.u8(..28) {
            0..6 => b"user.a",
            6..9 => b"user.b",
            9..12 => b"trusted.t",
            12..18 => b"security.capability",
            18..20 => b"security.x",
            20 => return Body([&b"user."[..], &vec![b'n'; self.among(&[250, 251])]].concat()),
            21 => self.among(&[&b"user."[..], b"trusted.", b"security.", b"system."]),
            22 => self.among(&[&b"system.x"[..], b"nope", b"use"]),
            23 => b"",
            _ => self.list_kind().xattr_name().as_bytes(),
        };
        Body(name.to_vec())
    }

    fn xattr_value(&mut self) -> Vec<u8> {
        match self.rng.u8(..12) {
            0..2 => Vec::new(),
            2 => vec![b'v'; self.among(&LONGEST)],
            3 => vec![b'v'; 900],
            _ => vec![b'v'; self.rng.usize(1..4)],
        }
    }

    /// Draws the value of an access control list, seldom one that is none.
    fn list_value(&mut self) -> Vec<u8> {
        let mut value = self.list().acl().map(|list| list.to_xattr()).unwrap_or_default();
        match self.rng.u8(..12) {
            0 => value.truncate(self.among(&[3, 4, 9])),
            1 if !value.is_empty() => value[0] = 1,
            2 => value.iter_mut().skip(4).take(1).for_each(|tag| *tag = 3),
            3 if value.len() > 16 => value[16..20].fill(0xff),
            _ => {}
        }
        value
    }

    /// Draws a file capability, which may have an invalid form.
    fn capability(&mut self) -> Vec<u8> {
        if self.one_in(6) {
            return self.xattr_value();
        }
        let head = self.among(&HEADS);
        let has_user = if self.one_in(10) { self.one_in(2) } else { head[3] == 3 };
        let user = self.among(&[0_u32, 1000, 1002, u32::MAX]).to_le_bytes();
        [&head[..], &[7; 16], if has_user { &user } else { &[] }].concat()
    }
}
