//! Tests: names are added and removed, and their memory is recorded.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::table::Ino;
use super::*;

fn key(ino: u64) -> Key {
    Key { ino: Ino(ino), generation: 0 }
}

#[test]
fn what_is_charged_is_given_back() {
    let (ledger, mut names) = (Ledger::default(), Names::new());
    let hasher = DefaultHashBuilder::default();
    let texts: Vec<_> = (0..1000).map(|i| format!("{i:>width$}", width = 1 + i % 200)).collect();
    let name = |i: u64| Hashed::new(Name::new(texts[i as usize].as_bytes()).unwrap(), &hasher);
    for i in 0..1000 {
        names.add(&name(i), key(7), FileType::Regular, &ledger);
        names.retarget(names.find(&name(i)).unwrap(), key(i), FileType::Regular);
    }
    assert_eq!((names.len(), ledger.total()), (1000, names.bytes()));
    assert!(ledger.total() > 1000 * 100);
    for i in 0..1000 {
        let found = names.find(&name(i)).unwrap();
        assert_eq!(names.key(found), key(i));
        names.take(found, &ledger);
        assert!(names.find(&name(i)).is_none());
        assert_eq!(ledger.total(), names.bytes());
    }
    assert_eq!(names.len(), 0);
    assert!(ledger.total() < 64 * SLACK as u64, "little is kept: {}", ledger.total());
}

/// A step of a test. A removal takes the oldest name, the newest or one in between.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize),
    TakeFirst,
    TakeLast,
    Take(usize),
}

fn step() -> impl Strategy<Value = (Step, usize)> {
    let what = prop_oneof![
        (1..60usize).prop_map(Step::Add),
        Just(Step::TakeFirst),
        Just(Step::TakeLast),
        any::<usize>().prop_map(Step::Take),
    ];
    (what, 1..80usize)
}

fn check(names: &Names, model: &BTreeMap<u64, Vec<u8>>, ledger: &Ledger, hasher: &DefaultHashBuilder) {
    let mut listed = Vec::new();
    names.list(0, &mut |entry| {
        listed.push((entry.cookie, entry.ino, entry.name.to_vec()));
        ControlFlow::Continue(())
    });
    assert!(
        listed
            .iter()
            .map(|(cookie, ino, name)| (OLDEST - cookie, *ino, name))
            .eq(model.iter().rev().map(|(i, name)| (*i, *i, name)))
    );
    assert_eq!((names.len(), ledger.total()), (model.len(), names.bytes()));
    assert!(names.entries.len() <= 2 * names.len() + SLACK);
    for (i, name) in model {
        let found = names.find(&Hashed::new(Name::new(name).unwrap(), hasher)).unwrap();
        assert_eq!(names.key(found), key(*i));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    /// Checks that after removals in any order all other names are found, and listed in order.
    #[test]
    fn names_are_a_map(steps in proptest::collection::vec(step(), 1..40)) {
        let (ledger, mut names, hasher) = (Ledger::default(), Names::new(), DefaultHashBuilder::default());
        // The numbers wrap around.
        names.first = u32::MAX - 99;
        let (mut model, mut made) = (BTreeMap::new(), 0);
        for (step, times) in steps {
            for _ in 0..times {
                if let Step::Add(width) = step {
                    let text = format!("{made:>width$}").into_bytes();
                    names.add(&Hashed::new(Name::new(&text).unwrap(), &hasher), key(made), FileType::Regular, &ledger);
                    model.insert(made, text);
                    made += 1;
                    continue;
                }
                let which = match step {
                    Step::TakeLast => model.len().saturating_sub(1),
                    Step::Take(place) => place % model.len().max(1),
                    _ => 0,
                };
                let Some(gone) = model.keys().nth(which).copied() else { break };
                let text = model.remove(&gone).unwrap();
                names.take(names.find(&Hashed::new(Name::new(&text).unwrap(), &hasher)).unwrap(), &ledger);
            }
            check(&names, &model, &ledger, &hasher);
        }
    }
}
