//! A storm of names that are looked up once, against a hot set: the hot set keeps its hits.
//!
//! `PATHWALK_STORM_NAMES=10000000 cargo test -p pathwalk-tests --test storm --release --
//! --nocapture` runs a long one.

use pathwalk::{Access, Context, Credentials, Vfs};
use pathwalk_memfs::MemFs;

const HOT: u64 = 10_000;
/// The number of dentries: room for the hot set in the half that negative dentries may not use, and
/// some more.
const ROOM: u64 = 25_000;

fn storm_names() -> u64 {
    std::env::var("PATHWALK_STORM_NAMES").map_or(300_000, |text| text.parse().expect("PATHWALK_STORM_NAMES: a number"))
}

fn world(names: u64) -> (MemFs, Context) {
    let fs = MemFs::new();
    fs.mkdir("/hot", 0o755).unwrap();
    fs.mkdir("/storm", 0o755).unwrap();
    (0..HOT).for_each(|i| fs.file(format!("/hot/{i}"), 0o644).unwrap());
    (0..names).for_each(|i| fs.file(format!("/storm/{i}"), 0o644).unwrap());
    let who = Vfs::builder().budget(Vfs::budget_for(ROOM)).build(fs.alias()).unwrap().context(Credentials::root());
    (fs, who)
}

/// Returns the share of hits that the hot set keeps while each name of `storm` is looked up once.
/// The hot set is cached and was hit before.
fn kept(fs: &MemFs, who: &Context, names: u64, storm: impl Fn(u64) -> String) -> f64 {
    let hot = |i: u64| who.access(format!("/hot/{i}"), Access::empty()).unwrap();
    (0..2 * HOT).for_each(|i| hot(i % HOT));
    let mut random = 1u64;
    let mut hit = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        hot((random >> 33) % HOT);
    };
    let asked = fs.calls().lookup;
    for i in 0..names {
        _ = who.access(storm(i), Access::empty());
        hit();
    }
    let missed = fs.calls().lookup - asked - names;
    1.0 - missed as f64 / names as f64
}

#[test]
fn of_absent_names() {
    let (fs, who) = world(0);
    let kept = kept(&fs, &who, storm_names(), |i| format!("/none{i}"));
    println!("{} absent names: {:.3} % of the hits are kept", storm_names(), kept * 100.0);
    assert!(kept >= 0.99, "{kept}");
}

#[test]
fn of_names_that_are_there() {
    let names = 100_000;
    let (fs, who) = world(names);
    let kept = kept(&fs, &who, names, |i| format!("/storm/{i}"));
    println!("a scan of {names} files: {:.3} % of the hits are kept", kept * 100.0);
    assert!(kept >= 0.99, "{kept}");
}
