//! Variants of the walk, chosen at compile time, so that the shipped one carries no switch.

use std::marker::PhantomData;

/// The way in which the fast walk decides whether a directory may be searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchCheck {
    /// One bit in the dentry's word: the shipped variant.
    Bit,
    /// The mode bits of the inode, tested inline.
    Mode,
    /// The full generic check, out of line.
    Full,
}

/// A variant of the walk; [`Shipped`] is what the public API uses.
pub trait Config: 'static {
    /// Whether the step from a directory to its child is inlined into the loop, or a call.
    const INLINE_STEP: bool;
    /// The way in which search permission is decided.
    const SEARCH: SearchCheck;
    /// Whether the length of a link's body comes from the cache, or from a scan for its end.
    const CACHED_LENGTH: bool;
    /// Whether the walk may have rules to keep to. Without this, its asker must have none.
    const RULES: bool = false;
    /// Whether the walk crosses mounts within its loop. Otherwise it ends at the first mount, and a
    /// walk that crosses continues. A loop that may cross takes some more instructions for each
    /// component.
    const CROSSES: bool = false;
    /// Whether the memo of whole paths learns from the walk.
    const WHOLE_PATHS: bool = false;
    /// Whether the walk reports its way to a recording.
    const RECORDS: bool = false;
}

/// The shipped variant.
pub struct Shipped;

impl Config for Shipped {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
    const RULES: bool = true;
    const CROSSES: bool = true;
    const WHOLE_PATHS: bool = true;
}

/// A variant whose walk crosses mounts within its loop.
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

/// The shipped variant for an asker without rules, where nothing but the root is mounted.
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

/// The shipped variant for a walk that reports its way.
pub(crate) struct Recorded;

impl Config for Recorded {
    const INLINE_STEP: bool = false;
    const SEARCH: SearchCheck = Shipped::SEARCH;
    const CACHED_LENGTH: bool = Shipped::CACHED_LENGTH;
    const RULES: bool = true;
    const CROSSES: bool = true;
    const RECORDS: bool = true;
}
