//! The picture of where lookups end: an icicle of path components.
//!
//! Each name has a frame below its directory's frame. The frame's width is the number of lookups
//! that ended at the name or below. It is the redder the larger the share of absent lookups is. The
//! picture is one SVG file without scripts or external resources. A browser shows the figures of a
//! frame when the pointer rests on it.
//!
//! - [`frames`]: the frames, and their places;
//! - [`draw`]: the text of the picture.

mod draw;
mod frames;

use super::survey::{Place, Survey};
use super::verdict::Interview;
use frames::Weight;

/// Draws the picture of all answered lookups of a recording with the name `title`.
pub(crate) fn picture(title: &str, survey: &Survey, interview: &Interview<'_>, times: impl Fn(usize) -> u64) -> String {
    let mut own = vec![Weight::default(); survey.names.len()];
    for (i, place) in survey.places.iter().enumerate() {
        if let Place::At(Some(end)) = place {
            let absent = if interview.is_absent(i) { times(i) } else { 0 };
            own[end.name as usize] += Weight { lookups: times(i), absent };
        }
    }
    draw::svg(title, &survey.names, own)
}
