//! Layers that are mounted in a user namespace.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use pathwalk_overlay::{Form, Limit, Suited};
use pathwalk_tests::skipped;

use super::random::seed;
use super::trees::{Scope, change};
use super::world::{Shown, World, enter, host, keep_accesses};

/// The environment variable that is set in the child.
const CHILD: &str = "PATHWALK_OVERLAY_CHILD";

#[test]
fn layers_of_a_user_namespace() {
    if std::env::var_os(CHILD).is_some() {
        return in_namespace();
    }
    let program = std::env::current_exe().expect("it is known");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]).arg(program);
    command.args(["user::layers_of_a_user_namespace", "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return skipped("layers of a user namespace", &format!("unshare: {error}")),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unshare: ") {
        return skipped("layers of a user namespace", errors.trim());
    }
    assert!(output.status.success(), "{}\n{errors}", String::from_utf8_lossy(&output.stdout));
}

fn in_namespace() {
    enter().expect("it may enter a mount namespace");
    assert_eq!(Form::of_this_process(), Form::User);
    let mut world = World::new();
    let base = world.base();
    fs::create_dir(base.join("d")).unwrap();
    ["a", "d/x", "gone", "copied"].iter().for_each(|name| fs::write(base.join(name), "text").unwrap());
    fs::hard_link(base.join("a"), base.join("b")).unwrap();
    let mounted = world.mount();
    let limits = mounted.layer.suited(&base, &mounted.mount).unwrap();
    assert_eq!(limits, Suited::No(vec![Limit::RenamedDirectories, Limit::HardLinks, Limit::Numbers]));
    let at = &mounted.at;
    let refused = fs::rename(at.join("d"), at.join("e")).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc_exdev()));
    fs::OpenOptions::new().append(true).open(at.join("a")).unwrap().write_all(b"more").unwrap();
    assert_eq!(fs::read(at.join("b")).unwrap(), b"text", "the names part");
    fs::remove_file(at.join("gone")).unwrap();
    fs::OpenOptions::new().append(true).open(at.join("copied")).unwrap().write_all(b"more").unwrap();
    fs::write(at.join("d/new"), "new").unwrap();
    // The name that stays has the number of links that the base has.
    let shown = Shown::of(&host(at)).without_links();
    world.take(&mounted.unmount(), &shown, "a user namespace");

    let mounted = world.mount();
    fs::create_dir(mounted.at.join("closed")).unwrap();
    fs::create_dir(mounted.at.join("closed/below")).unwrap();
    fs::set_permissions(mounted.at.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let dir = mounted.at.parent().unwrap().join("layer 2");
    mounted.unmount().remove().unwrap();
    assert!(!dir.exists());

    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..30 {
        let mut world = World::new();
        let base = host(&world.base());
        (0..random.usize(..100)).for_each(|_| change(&base, &mut random, Scope::Files));
        drop(base);
        keep_accesses(&world.base()).expect("it is the caller's");
        let mounted = world.mount();
        let view = host(&mounted.at);
        (0..random.usize(..60)).for_each(|_| change(&view, &mut random, Scope::Files));
        drop(view);
        let shown = Shown::of(&host(&mounted.at)).without_links();
        world.take(&mounted.unmount(), &shown, &format!("round {round} of seed {seed}"));
    }
}

fn libc_exdev() -> i32 {
    rustix::io::Errno::XDEV.raw_os_error()
}
