//! The counts of the engine's calls, for tests that check that the file system was not called.
//!
//! Only the trait's methods count; operations through paths do not. The counters are relaxed: a
//! count is exact if it is read after the calls in question have returned.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The number of times that the engine called each method of the file system.
        ///
        /// ```
        /// use pathwalk::{Credentials, Vfs};
        /// use pathwalk_memfs::MemFs;
        /// let fs = MemFs::new();
        /// fs.file("/file", 0o644)?;
        /// let counted = fs.alias();
        /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
        /// context.stat("/file")?;
        /// let before = counted.calls();
        /// context.stat("/file")?;
        /// assert_eq!(counted.calls().since(&before).total(), 0, "the second answer is cached");
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct Calls {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Calls {
            /// Returns the calls between `earlier` and this snapshot.
            #[must_use]
            pub fn since(&self, earlier: &Calls) -> Calls {
                Calls { $($name: self.$name - earlier.$name,)* }
            }

            /// Returns the number of all calls together.
            pub fn total(&self) -> u64 {
                [$(self.$name),*].iter().sum()
            }
        }

        // The counters have cache lines of their own, apart from data that is only read: every call
        // writes here.
        #[derive(Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Calls {
                Calls { $($name: self.$name.0.load(Relaxed),)* }
            }
        }
    };
}

calls! {
    /// `root`
    root,
    /// `lookup`
    lookup,
    /// `attributes`
    attributes,
    /// `details`
    details,
    /// `generation`
    generation,
    /// `read_link`
    read_link,
    /// `permission`
    permission,
    /// `acl`
    acl,
    /// `get_acl`
    get_acl,
    /// `set_acl`
    set_acl,
    /// `revalidate`
    revalidate,
    /// `forget` of a node that the engine held
    forget,
    /// `forget` of a node that the engine did not hold, or too often: an error of the caller
    stray_forget,
    /// `create`
    create,
    /// `link`
    link,
    /// `unlink`
    unlink,
    /// `rename`
    rename,
    /// `set_attributes`
    set_attributes,
    /// `create_unnamed`
    create_unnamed,
    /// `open`
    open,
    /// `statfs`
    statfs,
    /// `read_at` of an open file
    read_at,
    /// `write_at` of an open file
    write_at,
    /// `read_dir` of an open directory
    read_dir,
    /// `read_dir_with_nodes` of an open directory
    read_dir_with_nodes,
    /// `sync` of an open file or directory
    sync,
    /// `get_xattr`
    get_xattr,
    /// `set_xattr`
    set_xattr,
    /// `list_xattrs`
    list_xattrs,
    /// `remove_xattr`
    remove_xattr,
    /// `encode_handle`
    encode_handle,
    /// `decode_handle`
    decode_handle,
    /// `find_name`
    find_name,
    /// `inode_flags`
    inode_flags,
    /// `set_inode_flags`
    set_inode_flags,
    /// `fallocate` of an open file
    fallocate,
    /// `copy_range` of an open file
    copy_range,
    /// `clone_range` of an open file
    clone_range,
    /// `accessed`
    accessed,
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}
