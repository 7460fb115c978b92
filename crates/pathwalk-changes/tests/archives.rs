//! Archives: ours by us, by GNU tar, and by the rules of layers.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Copied, Node, Scene, Scope, assert_same, beside_outside, look, memory, rounds, shown};
use pathwalk::{Context, FileType, InodeFlags, OpenFlags, RenameFlags};
use pathwalk_changes::{Error, Format, LeftOut, Lost, Position, json, left_out, oci, tar};
use proptest::prelude::*;

/// Returns a tree as far as an archive holds it: without sockets and flags.
fn held(context: &Context) -> Copied {
    let all = look(context).into_iter().filter(|(_, node)| node.kind != FileType::Socket);
    all.map(|(path, node)| (path, Node { flags: InodeFlags::empty(), ..node })).collect()
}

/// Checks that a tree lacks nothing but what is told.
fn assert_told(found: &Context, scene: &Scene, told: &[LeftOut]) {
    let (found, wanted) = (look(found), look(&scene.new));
    for (path, node) in &wanted {
        let lost = match found.get(path) {
            None => Lost::NAME,
            Some(found) if found.flags != node.flags => Lost::FLAGS,
            Some(_) => Lost::empty(),
        };
        let at = told.iter().find(|told| *told.path == **path).map_or(Lost::empty(), |told| told.what);
        assert!(at.contains(lost), "{} lost {lost:?}, told {at:?}\n{}", path.escape_ascii(), shown(&scene.changes));
    }
}

fn as_tar(scene: &Scene) -> Vec<u8> {
    let mut out = Vec::new();
    tar::write(&scene.changes, &scene.old, &scene.new, &mut out)
        .unwrap_or_else(|error| panic!("{error}\n{}", shown(&scene.changes)));
    out
}

fn as_layer(scene: &Scene) -> Vec<u8> {
    let mut out = Vec::new();
    oci::write(&scene.changes, &scene.old, &scene.new, &mut out)
        .unwrap_or_else(|error| panic!("{error}\n{}", shown(&scene.changes)));
    out
}

/// Checks that archives of a scene's changes make the old tree the new one, but for what is told.
fn assert_applied(scene: &Scene) {
    let wanted = held(&scene.new);
    let (archive, layer, one, other) = (as_tar(scene), as_layer(scene), scene.copy("one"), scene.copy("other"));
    let told = |format| left_out(format, &scene.changes, &scene.old, &scene.new).expect("it can be read");
    tar::apply(Cursor::new(archive), &one).unwrap_or_else(|error| panic!("{error}\n{}", shown(&scene.changes)));
    assert_same(&held(&one), &wanted, &format!("tar\n{}", shown(&scene.changes)));
    assert_told(&one, scene, &told(Format::Tar));
    oci::apply(Cursor::new(layer), &other).unwrap_or_else(|error| panic!("{error}\n{}", shown(&scene.changes)));
    assert_same(&held(&other), &wanted, &format!("a layer\n{}", shown(&scene.changes)));
    assert_told(&other, scene, &told(Format::OciLayer));
}

#[test]
fn what_is_applied_gives_an_equal_tree() {
    rounds(|random| assert_applied(&Scene::random(random, Scope::All)));
}

#[test]
fn directories_with_flags_change_places() {
    let base = memory();
    let mut is_base = true;
    let scene = Scene::of(&base, false, |context| {
        if std::mem::take(&mut is_base) {
            context.create_dir("/a").expect("there is room");
            context.create_dir("/b").expect("there is room");
            context.set_inode_flags("/a", InodeFlags::NODUMP).expect("it is there");
        } else {
            context.renameat(context.root(), "a", context.root(), "b", RenameFlags::EXCHANGE).expect("both are there");
        }
    });
    assert_applied(&scene);
}

/// What GNU tar, without rights of its own, and a rule for each file keep: links, and data with the
/// right to execute.
type Kept = BTreeMap<PathBuf, (&'static str, Vec<u8>)>;

fn kept(context: &Context) -> Kept {
    let mut kept = Kept::new();
    for (path, node) in look(context) {
        let mode = match node.kind {
            FileType::Symlink => "link",
            FileType::Directory => "directory",
            _ if node.mode & 0o100 != 0 => "executable",
            _ => "plain",
        };
        if path != b"/" {
            kept.insert(std::ffi::OsStr::from_bytes(&path[1..]).into(), (mode, node.data));
        }
    }
    kept
}

fn read(dir: &Path) -> Kept {
    let (mut all, mut open) = (Kept::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("it is there") {
            let path = entry.expect("it is listed").path();
            let (of, name) =
                (fs::symlink_metadata(&path).expect("it is there"), path.strip_prefix(dir).expect("it is below").to_owned());
            if of.is_dir() {
                all.insert(name, ("directory", Vec::new()));
                open.push(path);
            } else if of.is_symlink() {
                all.insert(name, ("link", fs::read_link(path).expect("it is one").as_os_str().as_bytes().to_vec()));
            } else {
                let mode = if of.mode() & 0o100 != 0 { "executable" } else { "plain" };
                all.insert(name, (mode, fs::read(path).expect("it is there")));
            }
        }
    }
    all
}

fn make(kept: &Kept, dir: &Path) {
    for (path, (mode, data)) in kept {
        let path = dir.join(path);
        match *mode {
            "directory" => fs::create_dir_all(path).expect("there is room"),
            "link" => symlink(std::ffi::OsStr::from_bytes(data), path).expect("there is room"),
            mode => {
                fs::write(&path, data).expect("there is room");
                let bits = if mode == "executable" { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("it is there");
            }
        }
    }
}

fn gnu_tar(dir: &Path, args: &[&str], archive: &[u8]) -> Vec<u8> {
    let mut tar = Command::new("tar");
    tar.args(args).arg("-f-").current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tar.spawn().expect("it is installed");
    child.stdin.take().expect("it is piped").write_all(archive).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Applies a layer by the rules of `layer.md`, as they are there: whiteouts hide what lies below,
/// and other entries replace what is no directory in both.
fn apply_by_rules(layer: &[u8], dir: &Path) {
    let unpacked = tempfile::tempdir().expect("there is room");
    gnu_tar(unpacked.path(), &["-xp"], layer);
    let (mut whiteouts, mut others) = (Vec::new(), Vec::new());
    for (path, (mode, _)) in read(unpacked.path()) {
        let name = path.file_name().expect("it has one").as_bytes().to_vec();
        if name.starts_with(b".wh.") { whiteouts.push((path, name)) } else { others.push((path, mode)) }
    }
    let remove = |path: PathBuf| match fs::symlink_metadata(&path) {
        Ok(of) if of.is_dir() => fs::remove_dir_all(path).expect("it is there"),
        Ok(_) => fs::remove_file(path).expect("it is there"),
        Err(_) => {}
    };
    for (path, name) in whiteouts {
        let above = dir.join(path.parent().expect("it has one"));
        if name == b".wh..wh..opq" {
            fs::read_dir(above).into_iter().flatten().for_each(|entry| remove(entry.expect("it is listed").path()));
        } else {
            remove(above.join(std::ffi::OsStr::from_bytes(&name[4..])));
        }
    }
    for (path, mode) in others {
        let there = dir.join(&path);
        if mode != "directory" || fs::symlink_metadata(&there).is_ok_and(|of| !of.is_dir()) {
            remove(there);
        }
    }
    gnu_tar(dir, &["-xp", "--exclude=.wh.*", "--keep-directory-symlink"], layer);
}

#[test]
fn a_layer_is_applied_by_the_rules() {
    rounds(|random| {
        let scene = Scene::random(random, Scope::Files);
        let layer = as_layer(&scene);
        let dir = tempfile::tempdir().expect("there is room");
        make(&kept(&scene.old), dir.path());
        apply_by_rules(&layer, dir.path());
        assert!(read(dir.path()) == kept(&scene.new), "{}", shown(&scene.changes));
    });
}

/// Makes a branch of an empty tree.
fn changed(change: impl Fn(&Context)) -> Scene {
    let mut is_base = true;
    Scene::of(&memory(), false, |context| {
        if !std::mem::take(&mut is_base) {
            change(context)
        }
    })
}

#[test]
fn gnu_tar_unpacks_what_is_written() {
    let long = format!("/{}", "n".repeat(200));
    let scene = changed(|context| {
        context.mkdir(&long, 0o750).expect("there is room");
        context.write(format!("{long}/file"), "text").expect("there is room");
        context.symlink("b".repeat(300), "/link").expect("there is room");
        context.hard_link(format!("{long}/file"), "/other").expect("there is room");
        let file = context.open("/sparse", OpenFlags::WRITE | OpenFlags::CREATE).expect("it can be made");
        file.set_len(1 << 30).expect("it may be long");
        file.write_at(b"middle", 1 << 29).expect("there is room");
        let time = |seconds, nanoseconds| pathwalk::SetTime::To(pathwalk::Timestamp { seconds, nanoseconds });
        context.utimes("/other", time(-2, 250_000_000), time(-2, 250_000_000)).expect("it is there");
    });
    let archive = as_tar(&scene);
    assert!(archive.len() < 100_000, "{} bytes", archive.len());
    let dir = tempfile::tempdir().expect("there is room");
    gnu_tar(dir.path(), &["-xp", "--warning=no-unknown-keyword"], &archive);
    let file = dir.path().join(&long[1..]).join("file");
    assert_eq!(fs::read(&file).expect("it is there"), b"text");
    let (one, other) = (fs::metadata(file).expect("it is there"), fs::metadata(dir.path().join("other")).expect("it is there"));
    assert_eq!((one.ino(), one.mtime(), one.mtime_nsec()), (other.ino(), -2, 250_000_000));
    assert_eq!(fs::read_link(dir.path().join("link")).expect("it is one").as_os_str().len(), 300);
    let sparse = fs::metadata(dir.path().join("sparse")).expect("it is there");
    assert!(sparse.len() == 1 << 30 && sparse.blocks() < 100_000, "{sparse:?}");
    let other = scene.copy("copy");
    tar::apply(Cursor::new(&archive), &other).expect("it can be applied");
    assert_same(&held(&other), &held(&scene.new), "the tree");
    assert!(other.stat("/sparse").expect("it is there").blocks < 100_000);
}

#[test]
fn what_gnu_tar_writes_is_applied() {
    let dir = tempfile::tempdir().expect("there is room");
    let scene = changed(|context| {
        context.create_dir_all("/a/b").expect("there is room");
        context.write("/a/b/file", "text").expect("there is room");
        context.write(format!("/{}", "m".repeat(150)), "long").expect("there is room");
        context.symlink("../a", "/a/link").expect("there is room");
    });
    make(&kept(&scene.new), dir.path());
    for format in ["--format=gnu", "--format=pax", "--format=ustar"] {
        let archive =
            Command::new("tar").args(["-c", format, "-f-", "."]).current_dir(dir.path()).output().expect("it is installed");
        let name = format!("copy{format}");
        let other = scene.copy(&name);
        if format == "--format=ustar" && !archive.status.success() {
            continue;
        }
        tar::apply(Cursor::new(archive.stdout), &other).expect("it can be applied");
        assert!(kept(&other) == kept(&scene.new), "{format}");
    }
}

#[test]
fn a_name_that_means_a_removal_is_refused() {
    let scene = changed(|context| context.write("/.wh.file", "").expect("there is room"));
    let error = oci::write(&scene.changes, &scene.old, &scene.new, Vec::new()).unwrap_err();
    assert!(matches!(&error, Error::Name(path) if **path == *b"/.wh.file"), "{error}");
    json::write(&scene.changes, &scene.old, &scene.new, Vec::new()).expect("JSON holds it");
}

/// Returns an archive with one entry, and its end.
fn archive(kind: ::tar::EntryType, name: &str, target: &str, data: &[u8]) -> Vec<u8> {
    let mut header = ::tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(data.len() as u64);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend(data);
    out.resize(out.len().next_multiple_of(512) + 1024, 0);
    out
}

#[test]
fn nothing_outside_is_touched() {
    use ::tar::EntryType;
    let (context, inside) = beside_outside();
    let before = look(&context);
    for path in [
        "../outside/x",
        "link/file",
        "/outside/file",
        "x/../../outside/file",
        "x//y",
        "link/.wh.file",
        "link/.wh..wh..opq",
        "way/file",
        "way/below/file",
        "way/.wh.file",
        "way/.wh..wh..opq",
        "file/x",
    ] {
        for input in [
            archive(EntryType::Regular, path, "", b"new"),
            archive(EntryType::Directory, path, "", b""),
            archive(EntryType::Link, path, "file", b""),
            archive(EntryType::Link, "new", path, b""),
            archive(EntryType::Symlink, path, "body", b""),
            archive(EntryType::XGlobalHeader, "pax", "", &record("PATHWALK.removed", &format!("{path}\0"))),
        ] {
            // A whiteout of what is not there says nothing.
            for error in [tar::apply(Cursor::new(&input), &inside).err(), oci::apply(Cursor::new(&input), &inside).err()] {
                assert!(matches!(error, Some(Error::Path { .. } | Error::Differs { .. }) | None), "{path}: {error:?}");
            }
        }
    }
    // A link of the archive is followed as little as one of the tree.
    let mut both = archive(EntryType::Symlink, "path", "/outside", b"");
    both.truncate(512);
    both.extend(archive(EntryType::Regular, "path/file", "", b"new"));
    for error in [tar::apply(Cursor::new(&both), &inside), oci::apply(Cursor::new(&both), &inside)] {
        assert!(matches!(error, Err(Error::Differs { .. })), "{error:?}");
    }
    assert_same(&look(&context), &before, "the tree");
}

fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length).expect("there is one");
    format!("{length}{rest}").into_bytes()
}

#[test]
fn an_archive_that_is_cut_off_is_refused() {
    let scene = changed(|context| {
        context.write("/a", vec![1; 1000]).expect("there is room");
        context.write("/b", "text").expect("there is room");
    });
    for whole in [as_tar(&scene), as_layer(&scene)] {
        let other = scene.copy(&format!("copy {}", whole.len()));
        let before = look(&other);
        for end in (0..whole.len() - 1024).step_by(128) {
            let error = tar::apply(Cursor::new(&whole[..end]), &other).expect_err("it is cut off");
            assert!(matches!(error, Error::Malformed { place: Position::Byte(_), .. }), "{end}: {error}");
        }
        assert_same(&look(&other), &before, "the tree");
    }
}

#[test]
fn no_input_makes_it_panic() {
    let scene = changed(|context| {
        let file = context.open("/sparse", OpenFlags::WRITE | OpenFlags::CREATE).expect("it can be made");
        file.set_len(100_000).expect("it may be long");
        file.write_at(b"text", 50_000).expect("there is room");
        context.mkdir("/dir", 0o755).expect("there is room");
        context.setxattr("/dir", "user.a", "b", pathwalk::XattrFlags::empty()).expect("there is room");
        context.hard_link("/sparse", "/dir/link").expect("the name is free");
    });
    let archives = [as_tar(&scene), as_layer(&scene)];
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    proptest!(|(at in 0..20_000_usize, with in bytes(9), any in bytes(600))| {
        for archive in &archives {
            let mut input = archive.clone();
            let at = at % input.len();
            let end = (at + with.len()).min(input.len());
            input.splice(at..end, with.iter().copied());
            // The sum of a header that was changed, too.
            let block = at / 512 * 512;
            if let Some(bytes) = input.get_mut(block..block + 512) {
                bytes[148..156].fill(b' ');
                let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
                bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
            _ = scene.on_copy(|copy| tar::apply(Cursor::new(&input), copy));
            _ = scene.on_copy(|copy| oci::apply(Cursor::new(&input), copy));
        }
        _ = scene.on_copy(|copy| tar::apply(Cursor::new(&any), copy));
    });
}
