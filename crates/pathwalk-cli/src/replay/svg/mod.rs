//! A picture of where lookups end: an icicle of path components.
//!
//! Each name has a frame; it lies below its directory's, is as wide as lookups ended at it or below, and is the redder the larger the
//! share of them that is absent. The picture is one SVG file without script or anything from elsewhere; a browser shows the figures of a
//! frame when the pointer rests on it.
//!
//! - [`frames`]: which frames there are, and where;
//! - [`draw`]: the text of the picture.

mod draw;
mod frames;

use super::survey::{Place, Survey};
use super::verdict::Interview;
use frames::Weight;

/// Draws the picture of all answered lookups of a recording that is called `title`.
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
