//! Tests of the state as a value: copies, equality, the dump of the whole tree, and the removal of
//! unused nodes.

use std::hash::{DefaultHasher, Hash, Hasher};

use pathwalk_model::{Credentials, Model, OpenFlags, Options};

use crate::world::{AT, World, run};

fn hash(model: &Model) -> u64 {
    let mut hasher = DefaultHasher::new();
    model.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn copies_part() {
    let mut world = World::new();
    let (copy, mut root) = (world.model.clone(), world.root.clone());
    assert!(copy == world.model && hash(&copy) == hash(&world.model));
    world.run("mkdir new").unwrap();
    assert!(copy != world.model);
    run(&copy, &mut root, "mkdir new").unwrap();
    assert!(copy == world.model && hash(&copy) == hash(&world.model) && root == world.root);
    #[allow(clippy::eq_op)]
    let same = copy == copy;
    assert!(same, "a model can be compared with itself");
}

#[test]
fn calls_that_commute_give_equal_states() {
    let model = Model::new(Options { root_mode: 0o777, ..Options::default() });
    let mut processes = [model.process(Credentials::root()), model.process(Credentials::user(1, 1, &[]))];
    let commands = ["mkdir a", "open CREAT b"];
    let (other, mut others) = (model.clone(), processes.clone());
    for number in [0, 1] {
        run(&model, &mut processes[number], commands[number]).unwrap();
    }
    for number in [1, 0] {
        run(&other, &mut others[number], commands[number]).unwrap();
    }
    assert!(model == other && processes == others);
}

#[test]
fn dump() {
    let mut world = World::new();
    world.run("link f d/name").unwrap();
    let dump = world.model.dump();
    let told: Vec<_> = dump
        .iter()
        .map(|entry| (String::from_utf8_lossy(&entry.path).into_owned(), entry.identity, entry.nlink, entry.contents.len()))
        .collect();
    let expected = [
        ("/", 0, 3, 0),
        ("/d", 1, 3, 0),
        ("/d/name", 2, 2, 0),
        ("/d/sub", 3, 2, 0),
        ("/dangling", 4, 1, 6),
        ("/f", 2, 2, 0),
        ("/link", 5, 1, 1),
        ("/to_d", 6, 1, 1),
    ];
    assert_eq!(told, expected.map(|(path, identity, nlink, length)| (path.to_owned(), identity, nlink, length)));
    assert_eq!(dump[1].size, 80, "two names, and the dots");
}

/// Checks that a forked process shares offsets with its parent, and has its own places.
#[test]
fn forked_processes() {
    let World { model, mut root } = World::new();
    let file = model.open(&mut root, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    let mut child = model.fork(&root);
    model.write(&mut child, file, b"ab").unwrap();
    model.write(&mut root, file, b"c").unwrap();
    assert_eq!(model.pread(&mut root, file, 9, 0), Ok(b"abc".to_vec()));
    model.chdir(&mut child, b"d").unwrap();
    assert_eq!(root.cwd(), root.root());
    model.close(&mut root, file).unwrap();
    assert_eq!(model.write(&mut child, file, b"d"), Ok(1));
    assert_eq!(child.descriptors().collect::<Vec<_>>(), [file]);
}

/// Checks that unreachable nodes are dropped: a model whose processes have released everything
/// equals one in which they never existed.
#[test]
fn what_nobody_holds_is_forgotten() {
    let World { model, mut root } = World::new();
    let mut process = model.process(Credentials::root());
    let before = model.clone();
    run(&model, &mut process, "mkdir a").unwrap();
    run(&model, &mut process, "mkdir a/b").unwrap();
    run(&model, &mut process, "mknod f2").unwrap();
    model.chdir(&mut process, b"a/b").unwrap();
    model.open(&mut process, AT, b"/f2", OpenFlags::RDWR, 0).unwrap();
    model.open(&mut process, AT, b"/", OpenFlags::TMPFILE | OpenFlags::RDWR, 0o600).unwrap();
    for command in ["rmdir a/b", "rmdir a", "unlink f2"] {
        run(&model, &mut root, command).unwrap();
    }
    assert_eq!(model.dump(), before.dump());
    assert!(model != before, "it is held still");
    model.chdir(&mut process, b"/").unwrap();
    for descriptor in process.descriptors().collect::<Vec<_>>() {
        model.close(&mut process, descriptor).unwrap();
    }
    assert!(model == before);
    let with = model.clone();
    let forked = model.fork(&process);
    model.exit(forked);
    model.exit(process);
    assert_eq!(model.dump(), with.dump());
}
