//! Events by node: what each operation tells, of which nodes, and to which subscriptions.

use pathwalk::security::NodeId;
use pathwalk::{
    At, AtFlags, Context, Credentials, Errno, MountFlags, Name, NodeEvent, NodeSubscription, OpenFlags, RenameFlags, SetTime,
    UmountFlags, Vfs,
};
use pathwalk_memfs::MemFs;

struct World {
    context: Context,
    events: NodeSubscription,
}

impl World {
    fn new() -> World {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        context.create_dir_all("/d/e").unwrap();
        ["/f", "/g"].iter().for_each(|path| context.write(path, "text").unwrap());
        let events = context.vfs().subscribe_nodes(100);
        World { context, events }
    }

    fn id(&self, path: &str) -> NodeId {
        self.context.lookup(path).unwrap().node_id()
    }

    fn name(&self, dir: &str, name: &str, removed: Option<NodeId>) -> NodeEvent {
        NodeEvent::Name { directory: self.id(dir), name: name.as_bytes().into(), removed }
    }

    /// Returns what was told since the last call.
    fn told<T>(&self, what: Result<T, Errno>) -> Vec<NodeEvent> {
        what.unwrap();
        std::iter::from_fn(|| self.events.try_next()).collect()
    }
}

#[test]
fn changes_of_names_name_all_nodes_that_changed() {
    use NodeEvent::Attributes;
    let world = World::new();
    let context = &world.context;
    let made = world.told(context.mkdir("/d/new", 0o755));
    assert_eq!(made, [world.name("/d", "new", None), Attributes(world.id("/d/new"))]);
    let (f, g, e) = (world.id("/f"), world.id("/g"), world.id("/d/e"));
    assert_eq!(world.told(context.link("/f", "/h")), [world.name("/", "h", None), Attributes(f)]);
    assert_eq!(world.told(context.unlink("/h")), [world.name("/", "h", Some(f)), Attributes(f)]);
    let moved = world.told(context.renameat(At::Cwd, "/d/e", At::Cwd, "/e", RenameFlags::empty()));
    assert_eq!(moved, [world.name("/d", "e", None), world.name("/", "e", None), Attributes(e)]);
    let replaced = world.told(context.renameat(At::Cwd, "/f", At::Cwd, "/g", RenameFlags::empty()));
    assert_eq!(replaced, [world.name("/", "f", None), world.name("/", "g", None), Attributes(f), Attributes(g)]);
    let exchanged = world.told(context.renameat(At::Cwd, "/e", At::Cwd, "/g", RenameFlags::EXCHANGE));
    let (one, other) = (world.name("/", "e", None), world.name("/", "g", None));
    assert_eq!(exchanged, [one.clone(), other.clone(), Attributes(e), other, one, Attributes(f)]);
}

#[test]
fn changes_of_nodes_are_told_with_and_without_names() {
    let world = World::new();
    let (context, f) = (&world.context, world.id("/f"));
    let file = context.open("/f", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    assert_eq!(world.told(context.chmod("/f", 0o600)), [NodeEvent::Attributes(f)]);
    let accessed = context.utimensat(At::Cwd, "/f", SetTime::Now, SetTime::Keep, AtFlags::empty());
    assert_eq!(world.told(accessed), [NodeEvent::Attributes(f)]);
    assert_eq!(world.told(file.set_len(2)), [NodeEvent::Data(f)]);
    world.told(context.unlink("/f"));
    assert_eq!(world.told(file.write_at(b"x", 0)), [NodeEvent::Data(f)]);
    assert_eq!(world.told(world.events.unheard(|| file.write_at(b"x", 0))), []);
    let other = context.vfs().subscribe_nodes(1);
    world.events.unheard(|| file.write_at(b"x", 0)).unwrap();
    assert_eq!(other.try_next(), Some(NodeEvent::Data(f)), "it is told of changes by other subscribers");
}

#[test]
fn reports_mounts_and_losses_are_told_also_to_their_maker() {
    let world = World::new();
    let (context, vfs) = (&world.context, world.context.vfs());
    let root = context.root().clone();
    let reported = world.told(world.events.unheard(|| vfs.invalidate(&root, Name::new(b"f").unwrap())));
    assert_eq!(reported[0], world.name("/", "f", None));
    assert_eq!(world.told(vfs.invalidate_attributes(&context.lookup("/g").unwrap())), [NodeEvent::Data(world.id("/g"))]);
    let below = world.told(vfs.invalidate_subtree(&context.lookup("/d").unwrap()));
    assert_eq!(below.last(), Some(&NodeEvent::Anything));
    assert_eq!(world.told(vfs.invalidate_file_system(&root)), [NodeEvent::Anything]);
    assert_eq!(world.told(context.mount(MemFs::new(), "/d", MountFlags::empty())), [NodeEvent::Mounts]);
    assert_ne!(world.id("/d"), root.node_id());
    context.write("/d/within", "").unwrap();
    assert_eq!(world.told(Ok(()))[0], world.name("/d", "within", None));
    assert_eq!(world.told(context.umount("/d", UmountFlags::empty())), [NodeEvent::Mounts]);
    let narrow = vfs.subscribe_nodes(1);
    ["/f", "/g"].iter().for_each(|path| context.chmod(path, 0o600).unwrap());
    let told: Vec<_> = std::iter::from_fn(|| narrow.try_next()).collect();
    assert_eq!(told, [NodeEvent::Attributes(world.id("/f")), NodeEvent::Anything]);
}
