//! The limits of Linux's pathname lookup, with the errno that goes with each.

/// The maximum length of a path in bytes, without the terminating NUL. A longer path is
/// `ENAMETOOLONG`, before any other check.
pub const PATH_MAX: usize = 4095;

/// The maximum length of a component in bytes. A longer one is `ENAMETOOLONG`, when the walk gets
/// to it. Source: `path_resolution(7)`.
pub const NAME_MAX: usize = 255;

/// The number of links that one walk may follow; the next is `ELOOP`. Source: `MAXSYMLINKS` in
/// `path_resolution(7)`.
pub const MAX_LINKS: usize = 40;

/// The maximum length of a link's body in bytes, as in `symlink(7)`.
pub const LINK_MAX: usize = 4095;

/// The maximum number of bytes that one call reads or writes. A larger request is cut to this
/// length. Source: `MAX_RW_COUNT` in `read(2)`.
pub const RW_MAX: usize = 0x7fff_f000;
