//! The question that the memo answers.

use super::text;
use crate::text::hash::fold;

/// The treatment of a link in the last component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastLink {
    /// The link is followed.
    Followed,
    /// The link itself is the end.
    Found,
    /// The link is followed, and is no last link for `protected_symlinks`.
    FollowedOnTheWay,
}

/// A path, with all that decides where it leads, but for the caller's rights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'p> {
    pub(crate) path: &'p [u8],
    /// The place where the walk begins, as one word.
    pub(crate) start: u64,
    /// The place where absolute links begin and `..` ends, as one word.
    pub(crate) root: u64,
    pub(crate) last_link: LastLink,
}

/// The keys of the memo's hash, secret to one `Vfs`.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    start: u64,
    text: text::Keys,
}

impl Keys {
    /// Creates keys from a seed.
    pub(super) fn new(seed: u64) -> Keys {
        let key = |salt: u64| fold(seed ^ salt, 0x9e37_79b9_7f4a_7c15) | 1;
        let before_last =
            [0xbe54_66cf_34e9_0c6c, 0xc0ac_29b7_c97c_50dd, 0x3f84_d5b5_b547_0917, 0x9216_d5d9_8979_fb1b, 0xd131_0ba6_98df_b5ac];
        let text = text::Keys { multiplier: key(0x4528_21e6_38d0_1377), before_last: before_last.map(key) };
        Keys { start: key(0x0826_e5f8_2c54_ae37), text }
    }
}

impl Question<'_> {
    /// Returns the hash of path and start. Two questions with these in common seldom differ in the
    /// rest.
    #[inline(always)]
    pub(super) fn hash(&self, keys: &Keys) -> u64 {
        text::hash(self.path, keys.start ^ self.start, &keys.text)
    }
}
