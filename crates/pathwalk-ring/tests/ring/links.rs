//! Linked entries.

use pathwalk::{Errno, OpenFlags, OpenHow};
use pathwalk_ring::{Entry, EntryFlags, Offset, Op};

use crate::LINK;
use crate::common::*;

#[test]
fn links_go_on_after_success_only() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 2);
    let mkdir = |place: &'static str| Op::Mkdirat { place: place.into(), mode: 0o700 };
    let chain = |flags| {
        [
            Entry::new(0, Op::Nop).with(LINK),
            Entry::new(1, Op::stat("/none")).with(flags),
            Entry::new(2, mkdir("/never")).with(LINK),
            Entry::new(3, Op::Nop),
            Entry::new(4, Op::stat("/slow1")),
        ]
    };
    submit(&mut ring, chain(LINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, ECANCELED), (3, ECANCELED), (4, 0)]);
    assert_eq!(context.stat("/never"), Err(Errno::ENOENT));
    submit(&mut ring, chain(LINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, ECANCELED), (3, ECANCELED), (4, 0)], "from the caches");
    submit(&mut ring, chain(EntryFlags::HARDLINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, 0), (3, 0), (4, 0)]);
}

#[test]
fn a_short_read_breaks_a_chain() {
    let (_, context) = world();
    let mut ring = ring(&context, 1);
    let make = OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    let file = std::sync::Arc::new(context.open("/f", make).unwrap());
    file.write(b"four").unwrap();
    let read = |id, length| Entry::new(id, Op::Read { file: file.clone(), buffer: vec![0; length], offset: Offset::At(0) });
    submit(&mut ring, [read(0, 4).with(LINK), read(1, 5).with(LINK), read(2, 4)]);
    assert_eq!(results(&mut ring), [(0, 4), (1, 4), (2, ECANCELED)]);
}
