//! Variants of the walk, chosen at compile time, so that what ships carries no switch.

use std::marker::PhantomData;

/// How the fast walk decides whether a directory may be searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchCheck {
    /// One bit in the dentry's word: what ships.
    Bit,
    /// The mode bits of the inode, tested inline.
    Mode,
    /// The full generic check, out of line.
    Full,
}

/// A variant of the walk; [`Shipped`] is what the public API uses.
pub trait Config: 'static {
    /// The step from a directory to its child: inlined into the loop, or a call.
    const INLINE_STEP: bool;
    /// How search permission is decided.
    const SEARCH: SearchCheck;
    /// The length of a link's body: from the cache, or by scanning for its end.
    const CACHED_LENGTH: bool;
    /// Whether there may be rules that the walk keeps to. Without them, its asker must have none.
    const RULES: bool = false;
    /// Whether the walk crosses to mounts within its loop. Otherwise it ends at the first, and one that does goes on. A
    /// loop that may come to another mount takes some instructions more for each component.
    const CROSSES: bool = false;
    /// Whether the memo of whole paths learns from the walk.
    const WHOLE_PATHS: bool = false;
    /// Whether the walk tells its way to a recording.
    const RECORDS: bool = false;
}

/// What ships.
pub struct Shipped;

impl Config for Shipped {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
    const RULES: bool = true;
    const CROSSES: bool = true;
    const WHOLE_PATHS: bool = true;
}

/// A variant whose walk crosses to mounts within its loop.
pub(crate) struct Crossing<C>(PhantomData<C>);

impl<C: Config> Config for Crossing<C> {
    const INLINE_STEP: bool = C::INLINE_STEP;
    const SEARCH: SearchCheck = C::SEARCH;
    const CACHED_LENGTH: bool = C::CACHED_LENGTH;
    const RULES: bool = C::RULES;
    const CROSSES: bool = true;
    const WHOLE_PATHS: bool = C::WHOLE_PATHS;
    const RECORDS: bool = C::RECORDS;
}

/// What ships, for an asker without rules, where nothing but the root is mounted.
pub(crate) struct Unruled;

impl Config for Unruled {
    const INLINE_STEP: bool = Shipped::INLINE_STEP;
    const SEARCH: SearchCheck = Shipped::SEARCH;
    const CACHED_LENGTH: bool = Shipped::CACHED_LENGTH;
}

/// A variant from whose walk the memo of whole paths learns.
pub(crate) struct Learning<C>(PhantomData<C>);

impl<C: Config> Config for Learning<C> {
    const INLINE_STEP: bool = C::INLINE_STEP;
    const SEARCH: SearchCheck = C::SEARCH;
    const CACHED_LENGTH: bool = C::CACHED_LENGTH;
    const RULES: bool = C::RULES;
    const CROSSES: bool = C::CROSSES;
    const WHOLE_PATHS: bool = true;
}

/// What ships, of a walk that tells its way.
pub(crate) struct Recorded;

impl Config for Recorded {
    const INLINE_STEP: bool = false;
    const SEARCH: SearchCheck = Shipped::SEARCH;
    const CACHED_LENGTH: bool = Shipped::CACHED_LENGTH;
    const RULES: bool = true;
    const CROSSES: bool = true;
    const RECORDS: bool = true;
}
