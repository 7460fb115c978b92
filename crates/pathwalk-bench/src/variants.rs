//! The variants of the walk. Each differs in one thing from the walk that ships, chosen at compile
//! time, so that the shipped code has no switch.

use pathwalk::internals::{Config, SearchCheck};

/// The walk that ships, but without the memo: each path is walked.
pub struct Walked;

impl Config for Walked {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
}

/// The same as [`Walked`], but each component's step is a call.
pub struct StepOutOfLine;

impl Config for StepOutOfLine {
    const INLINE_STEP: bool = false;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
}

/// The same as [`Walked`], but a directory's search permission is read from its mode bits.
pub struct ModeTest;

impl Config for ModeTest {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Mode;
    const CACHED_LENGTH: bool = true;
}

/// The same as [`Walked`], but every directory on the way gets the full permission check.
pub struct FullCheck;

impl Config for FullCheck {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Full;
    const CACHED_LENGTH: bool = true;
}

/// The same as [`Walked`], but the length of a link's body is found by searching for its end.
pub struct ScannedLength;

impl Config for ScannedLength {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = false;
}
