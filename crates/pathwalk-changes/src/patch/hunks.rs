//! Text in a patch: hunks of lines, written and applied.

use std::io::{self, Write};

use imara_diff::{Algorithm, Diff, Hunk as Difference, InternedInput};

/// The lines that are shown around a difference.
const CONTEXT: u32 = 3;

/// What a line of a hunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Kept,
    Removed,
    Added,
}

/// A part of a file that is replaced by another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hunk<'a> {
    /// The line of the patch in which it begins.
    pub(super) line: u64,
    /// The number of its first line in the old file, from 1, or that of the one before it if it has
    /// none.
    pub(super) start: u64,
    /// Its lines, with their ends.
    pub(super) lines: Vec<(Sign, &'a [u8])>,
}

/// Writes the differences of two texts.
pub(super) fn write(old: &[u8], new: &[u8], out: &mut impl Write) -> io::Result<()> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let mut near: Vec<Difference> = Vec::new();
    for difference in diff.hunks() {
        if near.last().is_some_and(|last| difference.before.start > last.before.end + 2 * CONTEXT) {
            write_hunk(&input, &near, out)?;
            near.clear();
        }
        near.push(difference);
    }
    if near.is_empty() { Ok(()) } else { write_hunk(&input, &near, out) }
}

/// Writes differences that are near to each other as one hunk.
fn write_hunk(input: &InternedInput<&[u8]>, near: &[Difference], out: &mut impl Write) -> io::Result<()> {
    let (first, last) = (&near[0], &near[near.len() - 1]);
    let before = first.before.start.saturating_sub(CONTEXT)..(last.before.end + CONTEXT).min(input.before.len() as u32);
    let leading = first.before.start - before.start;
    let after = first.after.start - leading..last.after.end + (before.end - last.before.end);
    // The number of the line before it, where there is none in it.
    let range = |lines: &std::ops::Range<u32>| match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    };
    writeln!(out, "@@ -{} +{} @@", range(&before), range(&after))?;
    let mut line = |sign: u8, token: imara_diff::Token| {
        let text = input.interner[token];
        out.write_all(&[sign])?;
        out.write_all(text)?;
        if text.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n\\ No newline at end of file\n") }
    };
    let mut at = before.start;
    for difference in near {
        let tokens =
            |all: &[imara_diff::Token], range: std::ops::Range<u32>| all[range.start as usize..range.end as usize].to_vec();
        tokens(&input.before, at..difference.before.start).into_iter().try_for_each(|token| line(b' ', token))?;
        tokens(&input.before, difference.before.clone()).into_iter().try_for_each(|token| line(b'-', token))?;
        tokens(&input.after, difference.after.clone()).into_iter().try_for_each(|token| line(b'+', token))?;
        at = difference.before.end;
    }
    input.before[at as usize..before.end as usize].iter().try_for_each(|token| line(b' ', *token))
}

/// Applies hunks to a text. A hunk may lie elsewhere than it says, as in git: all its old lines are
/// there, those at the beginning or the end of the file are there. Returns the hunk that does not
/// fit.
pub(super) fn apply<'h>(text: &[u8], hunks: &'h [Hunk<'_>]) -> Result<Vec<u8>, &'h Hunk<'h>> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut made, mut done, mut drift) = (Vec::with_capacity(text.len()), 0, 0_i64);
    for hunk in hunks {
        let old: Vec<&[u8]> = hunk.lines.iter().filter(|(sign, _)| *sign != Sign::Added).map(|(_, line)| *line).collect();
        let said = if old.is_empty() { hunk.start } else { hunk.start.saturating_sub(1) };
        let wanted = usize::try_from(said as i64 + drift).unwrap_or(0);
        let is_at_start = hunk.start <= 1;
        let is_at_end = hunk.lines.last().is_none_or(|(sign, _)| *sign != Sign::Kept);
        let fits = |at: usize| {
            let there = lines.get(at..at + old.len());
            (!is_at_start || at == 0) && (!is_at_end || at + old.len() == lines.len()) && there == Some(&old[..])
        };
        let at = nearest(wanted, done, lines.len(), fits).ok_or(hunk)?;
        drift += at as i64 - wanted as i64;
        lines[done..at].iter().for_each(|line| made.extend_from_slice(line));
        let new = hunk.lines.iter().filter(|(sign, _)| *sign != Sign::Removed);
        new.for_each(|(_, line)| made.extend_from_slice(line));
        done = at + old.len();
    }
    lines[done..].iter().for_each(|line| made.extend_from_slice(line));
    Ok(made)
}

/// Returns the number from `least` to `most` that fits and is nearest to a wanted one.
fn nearest(wanted: usize, least: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let wanted = wanted.clamp(least.min(most), most);
    let further = (wanted..=most).map(Some).chain(std::iter::repeat(None));
    let nearer = (least..wanted).rev().map(Some).chain(std::iter::repeat(None));
    let mut both = further.zip(nearer).take_while(|(one, other)| one.is_some() || other.is_some());
    both.find_map(|(one, other)| one.filter(|at| fits(*at)).or(other.filter(|at| fits(*at))))
}
