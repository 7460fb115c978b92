//! The limits of Linux's pathname lookup, with the errno that goes with each.

/// The maximum length of a path in bytes, without the terminating NUL. A longer path is
/// `ENAMETOOLONG`, before any other check.
///
/// ```
/// use pathwalk::limits::{LINK_MAX, MAX_LINKS, NAME_MAX, PATH_MAX};
/// use pathwalk::{Credentials, Errno, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// assert_eq!(context.stat("/".repeat(PATH_MAX + 1)), Err(Errno::ENAMETOOLONG));
/// assert_eq!(context.stat("n".repeat(NAME_MAX + 1)), Err(Errno::ENAMETOOLONG));
/// assert_eq!(context.symlink("/".repeat(LINK_MAX + 1), "/link"), Err(Errno::ENAMETOOLONG));
/// for number in 0..=MAX_LINKS {
///     context.symlink(format!("{}", number + 1), format!("/{number}"))?;
/// }
/// assert_eq!(context.stat("/0"), Err(Errno::ELOOP));
/// assert_eq!(context.stat("/1"), Err(Errno::ENOENT));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const PATH_MAX: usize = 4095;

/// The maximum length of a component in bytes. A longer one is `ENAMETOOLONG`, when the walk gets
/// to it. Source: `path_resolution(7)`.
///
/// [`PATH_MAX`] has an example.
pub const NAME_MAX: usize = 255;

/// The number of links that one walk may follow; the next is `ELOOP`. Source: `MAXSYMLINKS` in
/// `path_resolution(7)`.
///
/// [`PATH_MAX`] has an example.
pub const MAX_LINKS: usize = 40;

/// The maximum length of a link's body in bytes, as in `symlink(7)`.
///
/// [`PATH_MAX`] has an example.
pub const LINK_MAX: usize = 4095;

/// The maximum number of bytes that one call reads or writes. A larger request is cut to this
/// length. Source: `MAX_RW_COUNT` in `read(2)`.
///
/// ```
/// use pathwalk::limits::RW_MAX;
/// assert_eq!(RW_MAX, (2 << 30) - 4096);
/// ```
pub const RW_MAX: usize = 0x7fff_f000;
