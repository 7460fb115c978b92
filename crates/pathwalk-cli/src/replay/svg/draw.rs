//! The text of a picture.
//!
//! Names are bytes, and a picture is XML. Bytes that are not text, and characters that XML does not
//! allow, are escaped as in a byte string of Rust.

use std::fmt::Write as _;

use super::super::names::Names;
use super::frames::{Frame, Of, Weight, frames};
use crate::output::grouped;

/// The width of the frames, in units of the picture (pixels, where it is not scaled).
const WIDTH: f64 = 1200.0;
/// The free space around the frames.
const MARGIN: f64 = 12.0;
/// The height of a row of frames.
const ROW: f64 = 19.0;
/// The top of the frames, below title and legend.
const TOP: f64 = 74.0;
/// The width of a character of a label: 0.6 of the size, as in all common fonts of fixed width.
const CHARACTER: f64 = 6.6;
/// The free space in a frame, left and right of its label.
const PADDING: f64 = 3.0;
/// The widest gap between two frames. A stroke would hide the colour of narrow frames.
const GAP: f64 = 0.8;

/// The colour for no absent lookups: light grey.
const NONE_ABSENT: [u8; 3] = [0xe3, 0xe8, 0xed];
/// The colour for only absent lookups: vermilion, which looks darker to people with red-green
/// colour blindness.
const ALL_ABSENT: [u8; 3] = [0xe6, 0x5c, 0x1a];
/// The number of steps of the legend.
const LEGEND: usize = 5;

/// Returns the picture. `own` has the lookups that ended at each name itself.
pub(crate) fn svg(title: &str, names: &Names, own: Vec<Weight>) -> String {
    let frames = frames(names, own, WIDTH);
    let depth = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
    let (width, height) = (WIDTH + 2.0 * MARGIN, TOP + depth as f64 * ROW + MARGIN);
    let all = frames.first().map_or_else(Weight::default, |root| root.weight);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n\
         text {{ font: 11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1b1f24; pointer-events: none; }}\n\
         .title {{ font: 600 16px system-ui, 'DejaVu Sans', sans-serif; }}\n\
         .note {{ font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #4a525c; }}\n\
         .scale {{ font: 9px system-ui, 'DejaVu Sans', sans-serif; fill: #4a525c; }}\n\
         .frame:hover rect {{ stroke: #1b1f24; stroke-width: 1.2; }}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"28\">{title}</text>\n\
         <text class=\"note\" x=\"{MARGIN}\" y=\"48\">{figures}; width: lookups that ended at a name or below it</text>",
        title = escaped(cut(title, 110).as_ref()),
        figures = figures(all),
    );
    legend(&mut text, width - MARGIN);
    frames.iter().for_each(|frame| draw(&mut text, names, frame));
    if frames.is_empty() {
        let _ = writeln!(text, "<text class=\"note\" x=\"{MARGIN}\" y=\"{TOP}\">No lookup ended at a name.</text>");
    }
    text.push_str("</svg>\n");
    text
}

/// Draws the legend of the colours, ending at `right`.
fn legend(text: &mut String, right: f64) {
    const BOX: f64 = 32.0;
    let left = right - BOX * LEGEND as f64;
    let _ = writeln!(text, "<text class=\"note\" x=\"{left}\" y=\"28\" text-anchor=\"end\" dx=\"-8\">absent</text>");
    for i in 0..LEGEND {
        let share = i as f64 / (LEGEND - 1) as f64;
        let x = left + BOX * i as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"16\" width=\"{BOX}\" height=\"16\" fill=\"{}\"/>\
             <text class=\"scale\" x=\"{}\" y=\"44\" text-anchor=\"middle\">{}%</text>",
            colour(share),
            x + BOX / 2.0,
            share * 100.0,
        );
    }
}

fn draw(text: &mut String, names: &Names, frame: &Frame) {
    let (x, y) = (MARGIN + frame.x, TOP + frame.depth as f64 * ROW);
    let (label, path) = match frame.of {
        Of::Name(name) => (shown(names.name(name)), shown(&names.path(name))),
        Of::Others(directory, count) => {
            ("… others".into(), format!("{} other names in {}", grouped(count as i64), shown(&names.path(directory))))
        }
    };
    let _ = write!(
        text,
        "<g class=\"frame\"><title>{}\n{}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"/>",
        escaped(&path),
        figures(frame.weight),
        frame.width - GAP.min(frame.width / 5.0),
        ROW - GAP,
        colour(frame.weight.absent_share()),
    );
    let room = ((frame.width - 2.0 * PADDING) / CHARACTER).floor().max(0.0) as usize;
    let label = cut(&label, room);
    if !label.is_empty() {
        let _ = write!(text, "<text x=\"{:.2}\" y=\"{}\">{}</text>", x + PADDING, y + ROW - 6.0, escaped(&label));
    }
    text.push_str("</g>\n");
}

fn figures(weight: Weight) -> String {
    let (lookups, share) = (grouped(weight.lookups as i64), weight.absent_share() * 100.0);
    let noun = if weight.lookups == 1 { "lookup" } else { "lookups" };
    format!("{lookups} {noun}, {share:.1}% absent")
}

/// Returns the colour between light grey and vermilion for a share.
fn colour(share: f64) -> String {
    let mix =
        |i: usize| (f64::from(NONE_ABSENT[i]) + (f64::from(ALL_ABSENT[i]) - f64::from(NONE_ABSENT[i])) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// Returns a name as text. Bytes that are not text, and invisible characters, are escaped.
fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control()
                || matches!(character, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                let _ = write!(text, "{}", character.escape_default());
            } else {
                text.push(character);
            }
        }
        let _ = write!(text, "{}", chunk.invalid().escape_ascii());
    }
    text
}

/// Returns at most `most` characters of a text. If some are missing, the last is an ellipsis.
/// Returns none where not even two characters and the ellipsis fit.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() {
        length if length <= most => text.to_owned(),
        _ if most < 3 => String::new(),
        _ => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Escapes text for XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_sorts_are_text() {
        assert_eq!(shown(b"a\xff\n\x1b\t\xe2\x80\xae"), "a\\xff\\n\\u{1b}\\t\\u{202e}");
        assert_eq!(shown("żółw".as_bytes()), "żółw");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }

    #[test]
    fn labels_are_cut_to_their_frame() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 5), cut("abcdef", 2), cut("ab", 2)], ["abcdef", "abcd…", "", "ab"]);
    }

    #[test]
    fn colours_go_from_grey_to_vermilion() {
        assert_eq!((colour(0.0), colour(1.0)), ("#e3e8ed".into(), "#e65c1a".into()));
        assert_ne!(colour(0.5), colour(0.6));
    }

    #[test]
    fn the_picture_is_xml_with_a_title_for_each_frame() {
        let mut names = Names::new();
        let paths: [&[u8]; 5] = [b"/usr/<lib> & \"co\"", b"/usr/\xff\x01", "/usr/\u{fffe}".as_bytes(), b"/]]>", b"/usr"];
        let numbers = paths.map(|path| names.number(path));
        let mut own = vec![Weight::default(); names.len()];
        for number in numbers {
            own[number as usize] += Weight { lookups: 10, absent: 4 };
        }
        let text = svg("<a&b>\"'", &names, own);
        let document = roxmltree::Document::parse(&text).unwrap();
        let titles: Vec<_> =
            document.descendants().filter(|node| node.has_tag_name("title")).filter_map(|node| node.text()).collect();
        assert_eq!(titles.len(), 6);
        assert_eq!(titles[0], "/\n50 lookups, 40.0% absent");
        assert!(titles.contains(&"/usr/<lib> & \"co\"\n10 lookups, 40.0% absent"), "{titles:?}");
        assert!(titles.iter().any(|title| title.starts_with("/usr/\\xff\\u{1}\n")), "{titles:?}");
        let rects = document
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.parent_element().is_some_and(|g| g.has_tag_name("g")));
        let widths: Vec<f64> = rects.filter_map(|rect| rect.attribute("width")?.parse().ok()).collect();
        let gaps = 6.0 * GAP;
        assert!(
            (widths.iter().sum::<f64>() - (1200.0 + 1200.0 + 720.0 - gaps)).abs() < 0.1,
            "three rows, the last of /usr: {widths:?}"
        );
        assert!(!text.contains("<script"));
    }

    #[test]
    fn nothing_is_a_picture_too() {
        let text = svg("nothing", &Names::new(), vec![Weight::default()]);
        assert!(roxmltree::Document::parse(&text).is_ok() && text.contains("No lookup"));
    }
}
