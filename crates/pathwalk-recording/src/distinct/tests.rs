//! Tests of counting, of the order, and of lookups that were kept apart.

use super::*;

fn asking(path: &[u8], start: Option<Place>, line: u64) -> Asking<'_> {
    Asking { call: Call::Readlink, question: Question::Readlink, start, path, answer: Answer::Fine, line }
}

#[test]
fn the_sample_is_systematic_and_bounded() {
    let mut distinct = Distinct::default();
    let paths: Vec<Vec<u8>> = (0..SAMPLE as u32 * 5).map(|number| number.to_le_bytes().to_vec()).collect();
    for (path, line) in paths.iter().zip(1..) {
        distinct.add(&[asking(path, None, line)]);
    }
    let recording = distinct.finish(Descriptors::Followed, &Directories::default(), Tally::default());
    assert_eq!(recording.stride, 8);
    assert_eq!(recording.sequence.len(), (SAMPLE * 5).div_ceil(8));
    assert!(recording.sequence.iter().zip(0..).all(|(at, place)| *at == place * 8));
}

#[test]
fn any_order_of_lines_is_put_right() {
    // The first order is nearly sorted, the second not at all.
    for step in [1, 7919] {
        let lines: Vec<u64> = (0..10_000).map(|at| if step == 1 { at ^ 5 } else { at * step % 10_007 }).collect();
        let mut distinct = Distinct::default();
        for line in &lines {
            distinct.add(&[asking(&line.to_le_bytes(), None, *line)]);
        }
        let recording = distinct.finish(Descriptors::Followed, &Directories::default(), Tally::default());
        assert!(recording.lookups.is_sorted_by_key(|recorded| recorded.line));
        assert!(recording.lookups.iter().all(|recorded| *recorded.lookup.path == recorded.line.to_le_bytes()));
        assert!(recording.sequence.iter().zip(&lines).all(|(at, line)| recording.lookups[*at as usize].line == *line));
    }
}

#[test]
fn what_was_kept_apart_joins_or_is_left_out() {
    for descriptors in [Descriptors::Followed, Descriptors::NotFollowed] {
        let mut directories = Directories::default();
        let (_, used) = (directories.number_of(b"/unused"), directories.number_of(b"/used"));
        let mut distinct = Distinct::default();
        distinct.add(&[asking(b"only", Some(Place::IfFollowed(used)), 1)]);
        distinct.add(&[asking(b"both", Some(Place::IfFollowed(used)), 2)]);
        distinct.add(&[asking(b"/abs", None, 4)]);
        distinct.add(&[asking(b"both", Some(Place::Certain(used)), 3)]);
        let recording = distinct.finish(descriptors, &directories, Tally::default());
        let lookups: Vec<_> =
            recording.lookups.iter().map(|r| (&*r.lookup.path, r.lookup.start, r.line, r.answers.fine)).collect();
        let (in_used, root) = (Start::Directory(0), Start::Root);
        assert_eq!(recording.starts, [Box::from(*b"/used")]);
        if descriptors == Descriptors::Followed {
            assert_eq!(lookups, [(&b"only"[..], in_used, 1, 1), (b"both", in_used, 2, 2), (b"/abs", root, 4, 1)]);
            assert_eq!(recording.sequence, [0, 1, 2, 1]);
        } else {
            assert_eq!(lookups, [(&b"both"[..], in_used, 3, 1), (b"/abs", root, 4, 1)]);
            assert_eq!(recording.sequence, [1, 0]);
            assert_eq!(recording.tally.left_out[&LeftOut::UnknownDirectory], 2);
        }
    }
}
