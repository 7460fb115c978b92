//! Counts of the engine's calls, so that tests can say "the file system was not asked".
//!
//! Only the trait's methods count; what is done through paths does not. The counters are relaxed: one read after the calls
//! it is about have returned is exact.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often the engine called which method of the file system.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct Calls {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Calls {
            /// What was called between `earlier` and this snapshot.
            #[must_use]
            pub fn since(&self, earlier: &Calls) -> Calls {
                Calls { $($name: self.$name - earlier.$name,)* }
            }

            /// All calls together.
            pub fn total(&self) -> u64 {
                [$(self.$name),*].iter().sum()
            }
        }

        // Away from what is only read: every call writes here.
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
    /// `read_link`
    read_link,
    /// `permission`
    permission,
    /// `acl`
    acl,
    /// `revalidate`
    revalidate,
    /// `forget` of a node that was handed out
    forget,
    /// `forget` of one that was not, or too often: a fault of the caller
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
    /// `sync` of an open file or directory
    sync,
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}
