//! The limits of Linux's pathname lookup, with the errno that goes with each.

/// Longest path in bytes, without the terminating NUL; longer is `ENAMETOOLONG`, before anything else is looked at.
pub const PATH_MAX: usize = 4095;

/// Longest component in bytes; longer is `ENAMETOOLONG`, when the walk gets to it. Source: `path_resolution(7)`.
pub const NAME_MAX: usize = 255;

/// Links that one walk may follow; the next is `ELOOP`. Source: `MAXSYMLINKS` in `path_resolution(7)`.
pub const MAX_LINKS: usize = 40;

/// Longest link body in bytes, as in `symlink(7)`.
pub const LINK_MAX: usize = 4095;

/// Most bytes that one call reads or writes; of more it does the first so many. Source:
/// `MAX_RW_COUNT` in `read(2)`.
pub const RW_MAX: usize = 0x7fff_f000;
