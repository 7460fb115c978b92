//! Reports about names, beside lookups that find a cached node under another name: the node's
//! attributes are asked for again, though no report was about the name by which it was cached.

use super::doubts::{DIR, report, world};
use super::explore;
use super::fs::ROOT;
use super::world::{World, part};
use crate::fs_api::Report;
use crate::node::NodeKey;

/// The key of `/dir/file`.
const FILE: u128 = 3;

fn mode(world: &World) -> u16 {
    world.user().stat("/moved").unwrap().mode
}

/// Checks a report about the next name, which has no inode yet while it is looked up.
#[test]
fn a_report_about_the_next_name_beside_its_lookup() {
    explore(|hash| {
        let world = world(hash);
        let held = world.handle("/dir/file");
        held.attributes().unwrap();
        world.fs.move_name((DIR, "file"), (ROOT, "moved"));
        let walker = world.spawn(|world| _ = mode(world));
        world.fs.set_mode(FILE, 0o600);
        report(&world, Report::Name(NodeKey(ROOT), part("moved")));
        assert_eq!(mode(&world), 0o600);
        walker.join().unwrap();
        assert_eq!(mode(&world), 0o600);
        drop(held);
        world.end();
    });
}

/// Checks a report about the last name, which may have left the table when the report comes.
#[test]
fn a_report_about_the_last_name_beside_its_eviction() {
    explore(|hash| {
        let world = world(hash);
        world.user().stat("/dir/file").unwrap();
        world.fs.set_mode(FILE, 0o600);
        world.fs.move_name((DIR, "file"), (ROOT, "moved"));
        let walker = world.spawn(|world| {
            let held = world.handle("/moved");
            world.evict(1);
            drop(held);
        });
        report(&world, Report::Name(NodeKey(DIR), part("file")));
        assert_eq!(mode(&world), 0o600);
        walker.join().unwrap();
        assert_eq!(mode(&world), 0o600);
        world.end();
    });
}
