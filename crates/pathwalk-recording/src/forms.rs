//! The forms of calls: a text without the parts that differ from file to file.
//!
//! `newfstatat(AT_FDCWD</home>, "a/b", {st_mode=S_IFREG|0644, ...}, 0) = 0` has the form
//! `newfstatat(AT_FDCWD</>, "/", {/}, 0) = 0`: a slash replaces each part that is not empty. Texts
//! of one form are read alike, except for the parts that were taken out. So a form is remembered
//! together with its meaning: recordings name many files but have few forms.
//!
//! - Only those parts are taken out that reading passes over as a whole: strings, braces, and the
//!   paths that `-y` prints beside descriptors.
//! - A form is remembered if reading extracts nothing from a part except a path that is the whole
//!   part. This holds for most calls.
//! - The memory is bounded. A form is stored from its second occurrence on, until another form
//!   takes its place.
//!
//! Most texts have the form of the last text that began and ended in the same way. So that form is
//! tried first, which takes neither a copy nor a hash.

use std::hash::BuildHasher;

use memchr::{memchr2, memchr3};
use rapidhash::fast::RandomState;

use crate::call_text::{Annotation, At, Outcome, PathText, Problem, end_of_braces};
use crate::calls::{Event, Named, Names};
use crate::line::ends_like_a_call;

/// The number of forms that are kept.
const PLACES: usize = 1 << 12;

/// The length of the longest form that is kept, in bytes. Most are shorter.
const LONGEST: usize = 160;

/// The number of last forms that are remembered, by how texts begin and end.
const LIKELY: usize = 256;

/// The largest number of parts of a text whose form is looked for.
const PARTS: usize = 6;

pub(crate) struct Forms {
    places: Vec<Place>,
    hasher: RandomState,
    /// The form of the current text.
    form: Vec<u8>,
    /// The place of the last form, by how texts begin and end.
    last: [u16; LIKELY],
}

#[derive(Default)]
struct Place {
    hash: u64,
    /// The form and its meaning, or `None` as long as the form has occurred only once.
    known: Option<Box<Known>>,
}

/// A form, and the way in which it is read.
struct Known {
    form: Box<[u8]>,
    template: Template,
    /// The positions of the parts, in order.
    holes: Vec<Hole>,
}

/// The position of a part in a form.
#[derive(Clone, Copy, Default)]
struct Hole {
    /// The position after the delimiter that opens the part.
    begin: usize,
    /// The position of the delimiter that closes the part.
    end: usize,
}

/// An event, and the numbers of the parts that are inserted into it.
#[derive(Clone, Copy)]
struct Template {
    event: Event<'static>,
    at: Option<usize>,
    path: Option<usize>,
    outcome: Option<usize>,
}

/// The parts that were taken out of a text, and their positions.
struct Parts<'a> {
    texts: [&'a [u8]; PARTS],
    holes: [Hole; PARTS],
    count: usize,
}

impl Forms {
    pub(crate) fn new() -> Forms {
        Forms {
            places: std::iter::repeat_with(Place::default).take(PLACES).collect(),
            hasher: RandomState::default(),
            form: Vec::with_capacity(LONGEST),
            last: [0; LIKELY],
        }
    }

    /// Reads the text of a call like [`Names::read`], but faster if the form is known.
    pub(crate) fn read<'a>(&mut self, names: &Names, text: &'a [u8]) -> Result<Event<'a>, Problem> {
        let last = &mut self.last[likeness(text)];
        if let Some(event) = self.places[usize::from(*last)].known.as_ref().and_then(|known| known.read(text)) {
            return Ok(event);
        }
        let Some(parts) = Parts::of(text, &mut self.form) else { return names.read(text) };
        let hash = self.hasher.hash_one(&self.form[..]);
        let number = hash as usize % PLACES;
        let place = &mut self.places[number];
        if place.hash != hash {
            *place = Place { hash, known: None };
            return names.read(text);
        }
        *last = number as u16;
        if let Some(known) = place.known.as_ref().filter(|known| *known.form == self.form[..]) {
            return Ok(known.template.filled(&parts.texts));
        }
        let event = names.read(text)?;
        if let Some(template) = Template::of(event, &parts, &self.form) {
            let holes = parts.holes[..parts.count].to_vec();
            place.known = Some(Box::new(Known { form: self.form[..].into(), template, holes }));
        }
        Ok(event)
    }
}

/// Returns a small hash of how a text begins and ends. Calls begin with their names and end with
/// their outcomes.
fn likeness(text: &[u8]) -> usize {
    let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last()) else { return 0 };
    let mixed = (u32::from_le_bytes(*first) ^ u32::from(*last)).wrapping_mul(0x9e37_79b1);
    (mixed >> (u32::BITS - LIKELY.ilog2())) as usize
}

impl Known {
    /// Reads a text if it has this form.
    fn read<'a>(&self, text: &'a [u8]) -> Option<Event<'a>> {
        let mut parts: [&[u8]; PARTS] = [b""; PARTS];
        let (mut rest, mut at) = (text, 0);
        for (hole, part) in self.holes.iter().zip(&mut parts) {
            rest = rest.strip_prefix(&self.form[at..hole.begin])?;
            let end = end_of_part(self.form[hole.begin - 1], rest)?;
            if (end == 0) != (hole.begin == hole.end) {
                return None;
            }
            (*part, rest) = rest.split_at(end);
            at = hole.end;
        }
        (*rest == self.form[at..]).then(|| self.template.filled(&parts))
    }
}

impl Template {
    /// Returns how texts of the form are read, from one that was read. Returns `None` if reading
    /// looks into the parts, or might.
    fn of(event: Event<'_>, parts: &Parts<'_>, form: &[u8]) -> Option<Template> {
        let plain = |event| Some(Template { event, at: None, path: None, outcome: None });
        let named = match event {
            // The question of `openat2` is in braces, and so in a part.
            Event::Named(Named { name: "openat2", .. }) => return None,
            Event::Named(named) => named,
            Event::Close { fd } => return plain(Event::Close { fd }),
            Event::Nothing if ends_like_a_call(form) => return plain(Event::Nothing),
            _ => return None,
        };
        let (at, at_part) = match named.at {
            At::Cwd(annotation) => parts.take_from(annotation).map(|(annotation, part)| (At::Cwd(annotation), part))?,
            At::Descriptor(fd, annotation) => {
                parts.take_from(annotation).map(|(annotation, part)| (At::Descriptor(fd, annotation), part))?
            }
        };
        let (path, path_part) = match named.path {
            PathText::Whole(path) => (PathText::Whole(b""), Some(parts.place_of(path)?)),
            PathText::Null => (PathText::Null, None),
            PathText::Unknown => (PathText::Unknown, None),
        };
        let (outcome, outcome_part) = match named.outcome {
            Outcome::Done(value, annotation) => {
                parts.take_from(annotation).map(|(annotation, part)| (Outcome::Done(value, annotation), part))?
            }
            Outcome::Absent => (Outcome::Absent, None),
            Outcome::Failed => (Outcome::Failed, None),
            Outcome::Unknown => (Outcome::Unknown, None),
        };
        let event = Event::Named(Named { at, path, outcome, ..named });
        Some(Template { event, at: at_part, path: path_part, outcome: outcome_part })
    }

    /// Returns the event of a text with these parts.
    fn filled<'a>(&self, parts: &[&'a [u8]; PARTS]) -> Event<'a> {
        let Event::Named(mut named) = self.event else { return self.event };
        if let (Some(part), At::Cwd(annotation) | At::Descriptor(_, annotation)) = (self.at, &mut named.at) {
            *annotation = Some(Annotation::Path(parts[part]));
        }
        if let Some(part) = self.path {
            named.path = PathText::Whole(parts[part]);
        }
        if let (Some(part), Outcome::Done(_, annotation)) = (self.outcome, &mut named.outcome) {
            *annotation = Some(Annotation::Path(parts[part]));
        }
        Event::Named(named)
    }
}

impl<'a> Parts<'a> {
    /// Takes a text apart and writes its form to `form`. Returns `None` if the text is not as
    /// simple as most are.
    fn of(text: &'a [u8], form: &mut Vec<u8>) -> Option<Parts<'a>> {
        let mut parts = Parts { texts: [b""; PARTS], holes: [Hole::default(); PARTS], count: 0 };
        form.clear();
        let mut rest = text;
        while let Some(at) = memchr3(b'"', b'<', b'{', rest) {
            if rest[at] == b'<' && (at == 0 || !rest[at - 1].is_ascii_alphanumeric()) {
                return None;
            }
            let (before, inner) = rest.split_at(at + 1);
            let end = end_of_part(rest[at], inner)?;
            form.extend_from_slice(before);
            let begin = form.len();
            // An empty string is read in another way than other strings.
            if end > 0 {
                form.push(b'/');
            }
            *parts.holes.get_mut(parts.count)? = Hole { begin, end: form.len() };
            parts.texts[parts.count] = &inner[..end];
            parts.count += 1;
            form.push(inner[end]);
            rest = &inner[end + 1..];
        }
        form.extend_from_slice(rest);
        (form.len() <= LONGEST).then_some(parts)
    }

    /// Returns the number of the part that is this very text.
    fn place_of(&self, text: &[u8]) -> Option<usize> {
        self.texts[..self.count].iter().position(|part| std::ptr::eq(*part, text))
    }

    /// Returns an annotation without its path, and the number of the part that the path is. Returns
    /// `None` for any other annotation.
    fn take_from(&self, annotation: Option<Annotation<'_>>) -> Option<(Option<Annotation<'static>>, Option<usize>)> {
        match annotation {
            None => Some((None, None)),
            Some(Annotation::Path(path)) => Some((Some(Annotation::Path(b"")), Some(self.place_of(path)?))),
            Some(Annotation::Deleted | Annotation::NoPath) => None,
        }
    }
}

/// Returns the position at which a part ends, given the delimiter that opened it. Returns `None` if
/// the part is none of the usual ones: a string without escapes, a path and nothing else, braces.
fn end_of_part(opened: u8, text: &[u8]) -> Option<usize> {
    match opened {
        b'"' => memchr2(b'"', b'\\', text).filter(|end| text[*end] == b'"'),
        b'{' => end_of_braces(text).ok(),
        _ => {
            let end = memchr2(b'<', b'>', text).filter(|end| text[*end] == b'>')?;
            let path = &text[..end];
            (path.first() == Some(&b'/') && !path.ends_with(b" (deleted)")).then_some(end)
        }
    }
}

#[cfg(test)]
mod tests;
