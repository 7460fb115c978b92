//! The walk in variants: each is what ships but for one thing, chosen at compile time, so that what ships has no switch.

use pathwalk::internals::{Config, SearchCheck};

/// What ships, but each path is walked.
pub struct Walked;

impl Config for Walked {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
}

/// What ships, but each path is walked, and each component's step is a call.
pub struct StepOutOfLine;

impl Config for StepOutOfLine {
    const INLINE_STEP: bool = false;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = true;
}

/// The same as [`Walked`], but whether a directory may be searched is read off its mode bits.
pub struct ModeTest;

impl Config for ModeTest {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Mode;
    const CACHED_LENGTH: bool = true;
}

/// The same, but every directory on the way gets the full permission check.
pub struct FullCheck;

impl Config for FullCheck {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Full;
    const CACHED_LENGTH: bool = true;
}

/// The same, but the length of a link's body is found by looking for its end.
pub struct ScannedLength;

impl Config for ScannedLength {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = false;
}
