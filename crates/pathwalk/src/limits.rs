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

/// The greatest offset in a file, in bytes, and so the greatest size of one. Source: the greatest
/// `off_t`, in `lseek(2)`.
///
/// ```
/// use pathwalk::limits::OFFSET_MAX;
/// use pathwalk::{Errno, FileType, SetAttributes};
/// let set = |size| SetAttributes::default().with_size(size).check(FileType::Regular);
/// assert_eq!(set(OFFSET_MAX), Ok(()));
/// assert_eq!(set(OFFSET_MAX + 1), Err(Errno::EFBIG));
/// ```
pub const OFFSET_MAX: u64 = i64::MAX as u64;

/// The maximum number of bytes that one call reads or writes. A larger request is cut to this
/// length. Source: `MAX_RW_COUNT` in `read(2)`.
///
/// ```
/// use pathwalk::limits::RW_MAX;
/// assert_eq!(RW_MAX, (2 << 30) - 4096);
/// ```
pub const RW_MAX: usize = 0x7fff_f000;

/// The number of bytes that one write puts into a named pipe as a whole, so that no other write
/// comes between them. A longer write may be mixed with others. Source: `PIPE_BUF` in `pipe(7)`.
///
/// ```
/// use pathwalk::limits::PIPE_BUF;
/// assert_eq!(PIPE_BUF, 4096);
/// ```
pub const PIPE_BUF: usize = 4096;

/// The maximum length of an extended attribute's name in bytes, with its namespace. A longer name,
/// and an empty one, is `ERANGE`, before the path is read. Source: `XATTR_NAME_MAX` in `xattr(7)`.
///
/// ```
/// use pathwalk::limits::{XATTR_LIST_MAX, XATTR_NAME_MAX, XATTR_SIZE_MAX};
/// use pathwalk::{Credentials, Errno, Vfs, XattrFlags};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let set = |name: &str, value: &[u8]| context.setxattr("/", name, value, XattrFlags::empty());
/// assert_eq!(set(&format!("user.{}", "n".repeat(XATTR_NAME_MAX - 4)), b""), Err(Errno::ERANGE));
/// assert_eq!(set("user.name", &vec![0; XATTR_SIZE_MAX + 1]), Err(Errno::E2BIG));
///
/// // Each name takes one byte more in a list, for its end.
/// for number in 0..=XATTR_LIST_MAX / (XATTR_NAME_MAX + 1) {
///     set(&format!("user.{number:0width$}", width = XATTR_NAME_MAX - 5), b"")?;
/// }
/// assert_eq!(context.listxattr("/").unwrap_err(), Errno::E2BIG);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const XATTR_NAME_MAX: usize = 255;

/// The maximum length of an extended attribute's value in bytes. To set a longer one is `E2BIG`,
/// before the path is read. Source: `XATTR_SIZE_MAX` in `xattr(7)`.
///
/// [`XATTR_NAME_MAX`] has an example.
pub const XATTR_SIZE_MAX: usize = 65_536;

/// The maximum length of the list of a node's extended attributes in bytes, where each name ends
/// with a NUL. A longer list is `E2BIG`. Source: `XATTR_LIST_MAX` in `listxattr(2)`.
///
/// [`XATTR_NAME_MAX`] has an example.
pub const XATTR_LIST_MAX: usize = 65_536;
