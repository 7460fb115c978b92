//! The rules of pathname lookup, as a table: the running kernel, on a tmpfs, and the engine, on the
//! reference file system, answer the same questions over the same unusual trees. Every answer must
//! be the same: errno, attributes, link bodies, and the node of a handle.
//!
//! - `pathwalk_tests::place`: the place of the kernel's side;
//! - `tree`: its contents;
//! - `asker`: the credentials of the questions;
//! - `stand`: their starting points;
//! - `paths` and `question`: the questions, for the kernel;
//! - `engine`: the same questions for the engine, through each face;
//! - `table`: all of them, cold and warm.
//!
//! Needs root or user namespaces; reports a skip where neither is available.

mod asker;
mod engine;
mod paths;
mod question;
mod stand;
mod table;
mod tree;

use std::fs;

use pathwalk::{AclState, AtFlags, Credentials, Errno, Freshness, MountFlags, PermissionRule, Vfs, VfsBuilder};
use pathwalk_memfs::{LinkBodies, MemFs, Options};
use rustix::mount::MountFlags as KernelMountFlags;

use asker::{BARE_ROOT, OTHER, ROOT, all_askers, some};
use pathwalk_tests::place::{self, Filesystem, PROTECTED_SYMLINKS, Place, Protection, in_a_place};
use pathwalk_tests::skipped;
use stand::{Cwd, Origin, Start};
use table::{Table, builder};
use tree::Entry;

/// Lays the tree out in a `Vfs`.
fn build(place: &Place, builder: VfsBuilder, options: Options, tree: &[Entry]) -> Vfs {
    let vfs = builder.build(MemFs::with(options)).expect("a Vfs");
    tree::lay_into_vfs(&vfs, tree, place.users).expect("the tree fits into the reference file system");
    vfs
}

/// Returns a builder that protects links if this kernel does.
fn like_the_kernel() -> VfsBuilder {
    let protects = fs::read_to_string(PROTECTED_SYMLINKS).is_ok_and(|value| value.trim() != "0");
    if protects { builder().protect_symlinks() } else { builder() }
}

fn lay_out(place: &Place, tree: &[Entry]) {
    tree::lay_into_kernel(place, tree).expect("the tree fits into the kernel's file system");
}

fn framed_names(tree: &[Entry]) -> Vec<Vec<u8>> {
    paths::framed(paths::names(tree).iter().map(Vec::as_slice).chain([&b"nope"[..]]))
}

#[test]
fn shapes_of_paths() {
    in_a_place("shapes_of_paths", |place| {
        let tree = tree::shapes();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let askers = some(place.users, &[ROOT, OTHER]);
        let starts = vec![Start::cwd("/"), Start::cwd("/d"), Start::at(Origin::Opened("/d/e"))];
        Table { place, vfs: &vfs, askers: askers.clone(), starts, paths: paths::forms() }.check();
        let starts = vec![Start::cwd("/"), Start::at(Origin::Opened("/"))];
        Table { place, vfs: &vfs, askers, starts, paths: framed_names(&tree) }.check();
    });
}

#[test]
fn file_systems_that_promise_less() {
    in_a_place("file_systems_that_promise_less", |place| {
        let tree = tree::shapes();
        lay_out(place, &tree);
        let asks_again = Options::default().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime);
        let variants = [
            asks_again,
            Options::default().link_bodies(LinkBodies::OnRequest),
            Options::default().permission_rule(PermissionRule::Own),
            Options::default().permission_rule(PermissionRule::OwnButGenericSearch),
            Options::default().acl(AclState::Unknown),
            Options::default().acl(AclState::Present),
        ];
        for options in variants {
            let vfs = build(place, like_the_kernel(), options, &tree);
            let askers = some(place.users, &[BARE_ROOT, OTHER]);
            let starts = vec![Start::cwd("/"), Start::cwd("/d")];
            Table { place, vfs: &vfs, askers, starts, paths: paths::few() }.check_promising_less();
        }
    });
}

#[test]
fn starting_points() {
    in_a_place("starting_points", |place| {
        let tree = tree::shapes();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let opened = ["/", "/d", "/d/e", "/f", "/x", "/fifo", "/to-d", "/to-f", "/dangling", "/loop"];
        let mut starts: Vec<Start> = opened.map(|path| Start::at(Origin::Opened(path))).into();
        starts.extend([Origin::RemovedDirectory, Origin::RemovedFile, Origin::Invalid].map(Start::at));
        starts.extend(["/", "/d", "/to-d", "/d/e", "/empty"].map(Start::cwd));
        for origin in [Origin::Cwd, Origin::Opened("/d"), Origin::RemovedDirectory] {
            starts.push(Start { root: "/", cwd: Cwd::Removed, origin });
        }
        let askers = some(place.users, &[ROOT, BARE_ROOT, OTHER]);
        Table { place, vfs: &vfs, askers, starts, paths: paths::few() }.check();
    });
}

#[test]
fn roots() {
    in_a_place("roots", |place| {
        let tree = tree::shapes();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let below = |start| Start { root: "/d", ..start };
        let mut starts =
            vec![Start::cwd("/d/e"), Start::cwd("/d"), Start::at(Origin::Opened("/d/e")), Start::at(Origin::Opened("/f"))];
        // These lie outside of the new root, where `..` climbs past it.
        if place.filesystem == Filesystem::OwnTmpfs {
            starts.extend([
                Start::cwd("/"),
                Start::cwd("/empty"),
                Start::at(Origin::Opened("/")),
                Start::at(Origin::RemovedDirectory),
            ]);
        } else {
            skipped("walks that start outside of the root", "`..` leads out of a temporary directory");
        }
        let mut starts: Vec<Start> = starts.into_iter().map(below).collect();
        starts.push(Start { root: "/d/e", ..Start::cwd("/d/e") });
        let askers = some(place.users, &[ROOT, OTHER]);
        Table { place, vfs: &vfs, askers, starts, paths: paths::few() }.check();
    });
}

/// Checks `RESOLVE_*`: for each path, from within and from the root, also where `..` and links lead
/// out.
#[test]
fn rules_for_resolution() {
    in_a_place("rules_for_resolution", |place| {
        let tree = tree::shapes();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let mut starts: Vec<Start> = ["/", "/d", "/d/e", "/empty"].map(Start::cwd).into();
        starts.extend(["/d", "/f", "/to-d"].map(|path| Start::at(Origin::Opened(path))));
        starts.extend([Origin::RemovedDirectory, Origin::Invalid].map(Start::at));
        starts.push(Start { root: "/d", ..Start::cwd("/d/e") });
        let askers = some(place.users, &[ROOT, OTHER]);
        let mut paths = paths::forms();
        paths.extend(framed_names(&tree));
        Table { place, vfs: &vfs, askers, starts, paths }.check_resolved();
    });
}

#[test]
fn counted_links() {
    in_a_place("counted_links", |place| {
        let tree = tree::chains();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let askers = some(place.users, &[ROOT]);
        Table { place, vfs: &vfs, askers, starts: vec![Start::cwd("/")], paths: paths::counted() }.check();
    });
}

#[test]
fn permissions() {
    in_a_place("permissions", |place| {
        let tree = tree::modes();
        lay_out(place, &tree);
        let vfs = build(place, like_the_kernel(), Options::default(), &tree);
        let askers = all_askers(place.users);
        let starts = vec![Start::cwd("/")];
        Table { place, vfs: &vfs, askers: askers.clone(), starts, paths: paths::guarded() }.check();

        let mut starts: Vec<Start> = ["/d000", "/d700", "/d070", "/d007"].map(Start::cwd).into();
        starts.extend(["/d000", "/d711", "/d077", "/f000"].map(|path| Start::at(Origin::Opened(path))));
        let inside = ["", ".", "./", "..", "i", "./i", "j/..", "l", "nope", "../f755", "/d755/i", "../d755/i"];
        let inside: Vec<Vec<u8>> = inside.map(|path| path.as_bytes().to_vec()).into();
        Table { place, vfs: &vfs, askers, starts, paths: inside }.check();
    });
}

#[test]
fn switches_of_the_mount() {
    in_a_place("switches_of_the_mount", |place| {
        if place.filesystem == Filesystem::Host {
            return;
        }
        let mut tree = tree::shapes();
        tree.extend(tree::modes());
        lay_out(place, &tree);
        let mut paths = paths::few();
        paths.extend(paths::guarded());
        let switches = [
            (KernelMountFlags::RDONLY, MountFlags::READ_ONLY),
            (KernelMountFlags::NOEXEC, MountFlags::NOEXEC),
            (KernelMountFlags::NOSYMFOLLOW, MountFlags::NOSYMFOLLOW),
        ];
        for (theirs, ours) in switches {
            if let Err(error) = place.remount(theirs) {
                skipped(&format!("{ours:?}"), &format!("the kernel refuses to remount so ({error})"));
                continue;
            }
            let vfs = build(place, like_the_kernel().mount_flags(ours), Options::default(), &tree);
            let read_only = ours == MountFlags::READ_ONLY;
            let askers = if read_only { all_askers(place.users) } else { some(place.users, &[ROOT, BARE_ROOT, OTHER]) };
            Table { place, vfs: &vfs, askers, starts: vec![Start::cwd("/")], paths: paths.clone() }.check();
        }
    });
}

#[test]
fn links_in_sticky_directories() {
    in_a_place("links_in_sticky_directories", |place| {
        let tree = tree::sticky();
        lay_out(place, &tree);
        for (value, builder) in [("0", builder()), ("1", builder().protect_symlinks())] {
            let current = fs::read_to_string(PROTECTED_SYMLINKS).unwrap_or_default();
            let _protection = match Protection::set(value) {
                Ok(protection) => Some(protection),
                Err(_) if current.trim() == value => None,
                Err(error) => {
                    skipped(
                        &format!("{PROTECTED_SYMLINKS} = {value}"),
                        &format!("it may not be set here ({error}); run as root"),
                    );
                    continue;
                }
            };
            let vfs = build(place, builder, Options::default(), &tree);
            let askers = all_askers(place.users);
            Table { place, vfs: &vfs, askers: askers.clone(), starts: vec![Start::cwd("/")], paths: paths::sticky() }.check();
            Table { place, vfs: &vfs, askers, starts: vec![Start::cwd("/t")], paths: paths::sticky_here() }.check();
        }
    });
}

/// Checks questions that the kernel cannot be asked: a path with a NUL, and an `open` with
/// `AT_EACCESS`.
#[test]
fn what_the_kernel_cannot_be_asked() {
    let vfs = build_without_kernel();
    let context = vfs.context(Credentials::root());
    for path in [&b"\0"[..], b"d\0", b"d/\0/f", b"nope/\0", b"/d\0f", b"d/f\0\0\0\0\0\0\0\0\0"] {
        assert_eq!(context.access(path, pathwalk::Access::empty()), Err(Errno::EINVAL), "{:?}", path.escape_ascii().to_string());
        assert_eq!(context.stat(path).map(drop), Err(Errno::EINVAL));
        assert_eq!(context.lstat(path).map(drop), Err(Errno::EINVAL));
        assert_eq!(context.readlink(path, &mut [0; 8]), Err(Errno::EINVAL));
        assert_eq!(context.lookup(path).map(drop), Err(Errno::EINVAL));
    }
    let effective = context.lookup_at(pathwalk::At::Cwd, "d", AtFlags::EACCESS);
    assert_eq!(effective.map(drop), Err(Errno::EINVAL));
    let root = context.lookup("/d").and_then(|d| context.lookup_at(&d, "", AtFlags::EMPTY_PATH));
    assert_eq!(root.and_then(|d| d.path()), Ok(b"/d".to_vec()));
}

fn build_without_kernel() -> Vfs {
    let vfs = builder().build(MemFs::new()).expect("a Vfs");
    tree::lay_into_vfs(&vfs, &tree::shapes(), place::Users::All).expect("the tree fits");
    vfs
}
