//! Tests of `pathwalk mount`, as its users run it. They are skipped where mounting is not possible.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::mounts::{Point, Served, is_possible};
use crate::common::pathwalk;
use pathwalk_tests::skipped;
use rustix::process::Signal;

fn mount(source: &str, point: &Point, options: &[&str]) -> Output {
    pathwalk().arg("mount").args(options).arg(source).arg(point.path()).output().unwrap()
}

/// Checks that a mount is refused with these words, and that nothing is mounted.
fn refused(source: &str, point: &Point, options: &[&str], says: &str) {
    for how in [&[][..], &["-f"]] {
        let output = mount(source, point, &[how, options].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{source} {options:?}: {errors}");
        assert!(errors.contains(says) && errors.lines().count() == 1, "{source} {options:?}: {errors}");
        assert_eq!(point.mounted(), None);
    }
}

#[test]
fn the_command_returns_when_the_mount_is_ready() {
    let point = Point::new();
    let output = mount("mem", &point, &[]);
    if !is_possible("mounting in the background", &output) {
        return;
    }
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    fs::write(point.at("file"), "text").unwrap();
    assert_eq!(fs::read(point.at("file")).unwrap(), b"text");
    let options = point.mounted().unwrap();
    assert!(options.contains("nosuid,nodev") && !options.contains("allow_other"), "{options}");
    point.unmount();
}

#[test]
fn signals_and_unmounting_end_the_program() {
    for way in ["TERM", "INT", "HUP", "umount"] {
        let point = Point::new();
        let Some(mut served) = Served::start("ends of a mount", "mem", &point, &[]) else { return };
        assert_eq!(served.line, format!("mem is mounted on {}\n", point.path().display()));
        fs::write(point.at("file"), "text").unwrap();
        match way {
            "TERM" => served.signal(Signal::TERM),
            "HUP" => served.signal(Signal::HUP),
            "INT" => served.signal(Signal::INT),
            _ => point.unmount(),
        }
        assert_eq!((served.ended().code(), point.mounted()), (Some(0), None), "{way}");
    }
}

#[test]
fn what_is_open_is_served_until_a_second_signal() {
    let point = Point::new();
    let Some(mut served) = Served::start("a mount in use", "mem", &point, &[]) else { return };
    fs::write(point.at("file"), "text").unwrap();
    let open = fs::File::open(point.at("file")).unwrap();
    served.signal(Signal::TERM);
    while point.mounted().is_some() {
        std::thread::yield_now();
    }
    assert_eq!(open.metadata().unwrap().len(), 4);
    assert_eq!(served.process.try_wait().unwrap(), None);
    // One signal at a time is kept by the kernel.
    while served.process.try_wait().unwrap().is_none() {
        served.signal(Signal::TERM);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(served.ended().code(), Some(0));
}

#[test]
fn a_killed_program_leaves_a_place_for_the_next() {
    for by_hand in [true, false] {
        let point = Point::new();
        let Some(mut served) = Served::start("a killed program", "mem", &point, &[]) else { return };
        served.signal(Signal::KILL);
        served.ended();
        assert_eq!(fs::metadata(point.path()).unwrap_err().raw_os_error(), Some(107));
        if by_hand {
            point.unmount();
        }
        let Some(_again) = Served::start("a killed program", "mem", &point, &[]) else { return };
        fs::write(point.at("file"), "text").unwrap();
    }
}

#[test]
fn bad_arguments_are_refused() {
    let point = Point::new();
    let host = format!("host:{}", point.path().display());
    let above = format!("host:{}", point.path().parent().unwrap().display());
    for (source, options, says) in [
        ("mem", &["-o", "rw,frob"][..], "there is no option \"frob\"; there are ro, rw"),
        ("mem", &["-o", "size=much"], "the option \"size=much\": it is a number"),
        ("mem", &["-o", "coherence=ttl"], "is for host:DIR"),
        ("mem", &["-o", "budget=1"], "the option \"budget\""),
        ("/", &[], "write host:/"),
        ("host:/no/such/directory", &[], "No such file or directory"),
        ("host:/dev/null", &[], "Not a directory"),
        ("/no/such/file.toml", &[], "reading the namespace"),
        (&host, &[], "would contain itself"),
        (&above, &[], "would contain itself"),
    ] {
        refused(source, &point, options, says);
    }
    let missing = point.at("missing");
    let output = pathwalk().args(["mount", "mem"]).arg(&missing).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("make that directory") && output.status.code() == Some(2), "{errors}");
    fs::write(&missing, "").unwrap();
    let output = pathwalk().args(["mount", "mem"]).arg(&missing).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("is no directory"));
}

#[test]
fn one_place_has_one_tree() {
    let point = Point::new();
    let Some(mut served) = Served::start("two mounts", "mem", &point, &[]) else { return };
    let output = mount("mem", &point, &[]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("pathwalk umount"), "{errors}");
    point.unmount();
    assert_eq!(served.ended().code(), Some(0));
}

#[test]
fn a_mount_that_comes_into_its_source_elsewhere_is_refused() {
    let what = "a mount within itself";
    let (dir, point) = (tempfile::tempdir().unwrap(), Point::new());
    let script = "mount -t tmpfs pathwalk-test \"$3\" && mount --make-shared \"$3\" && mkdir \"$3/m\" \"$2/b\" && \
                  mount --bind \"$3\" \"$2/b\" && exec \"$1\" mount -f \"host:$2\" \"$3/m\"";
    let Some(output) = in_a_namespace(what, script, [dir.path(), point.path()]) else { return };
    let errors = String::from_utf8(output.stderr).unwrap();
    if errors.contains("/dev/fuse") || errors.contains("CAP_SYS_ADMIN") {
        return skipped(what, errors.trim());
    }
    assert!(output.status.code() == Some(2) && errors.contains("would contain itself"), "{errors}");
}

#[test]
fn options_are_those_of_the_kernel() {
    let point = Point::new();
    let options = ["-o", "dev,suid,noexec,allow_other", "-o", "ro,noauto,x-a=b,fsname=a name"];
    let Some(mut served) = Served::start("options", "mem", &point, &options) else { return };
    let mounted = point.mounted().unwrap();
    assert!(mounted.starts_with("ro,noexec,relatime,") && mounted.contains("allow_other"), "{mounted}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(mounts.contains(&format!("a\\040name {} fuse.pathwalk", point.path().display())), "{mounts}");
    assert_eq!(fs::write(point.at("x"), "").unwrap_err().raw_os_error(), Some(30));
    served.signal(Signal::TERM);
    assert_eq!(served.ended().code(), Some(0));
}

#[test]
fn memory_has_the_limits_and_owner_of_its_options() {
    let point = Point::new();
    let options = ["-o", "size=64K,nr_inodes=3,mode=1777,uid=12,gid=34"];
    let Some(_served) = Served::start("options of memory", "mem", &point, &options) else { return };
    let root = fs::metadata(point.path()).unwrap();
    assert_eq!((root.mode() & 0o7777, root.uid(), root.gid()), (0o1777, 12, 34));
    assert_eq!(fs::write(point.at("big"), vec![1; 100_000]).unwrap_err().raw_os_error(), Some(28));
    fs::write(point.at("b"), "").unwrap();
    assert_eq!(fs::write(point.at("c"), "").unwrap_err().raw_os_error(), Some(28));
}

#[test]
fn a_directory_is_changed_through_its_mount() {
    for mode in ["exclusive", "watch", "ttl", "strict"] {
        let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
        let source = format!("host:{}", host.path().display());
        let Some(mut served) = Served::start("a host directory", &source, &point, &["-o", &format!("coherence={mode}")]) else {
            return;
        };
        fs::create_dir(point.at("dir")).unwrap();
        fs::write(point.at("dir/file"), "text").unwrap();
        fs::set_permissions(point.at("dir/file"), fs::Permissions::from_mode(0o606)).unwrap();
        let there = host.path().join("dir/file");
        assert_eq!((fs::read(&there).unwrap(), fs::metadata(&there).unwrap().mode() & 0o777), (b"text".to_vec(), 0o606));
        if mode == "strict" {
            fs::rename(&there, host.path().join("other")).unwrap();
            assert!(!point.at("dir/file").exists() && point.at("other").exists());
        }
        served.signal(Signal::TERM);
        assert_eq!(served.ended().code(), Some(0), "{mode}");
    }
}

#[test]
fn frozen_is_read_only() {
    let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
    fs::write(host.path().join("file"), "text").unwrap();
    let source = format!("host:{}", host.path().display());
    let Some(_served) = Served::start("a frozen directory", &source, &point, &["-o", "coherence=frozen"]) else { return };
    assert_eq!(fs::read(point.at("file")).unwrap(), b"text");
    assert_eq!(fs::write(point.at("file"), "new").unwrap_err().raw_os_error(), Some(30));
}

#[test]
fn opens_are_not_left_out_where_nothing_reports_changes() {
    let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
    let source = format!("host:{}", host.path().display());
    for mode in ["coherence=strict,noopen", "coherence=ttl,noopen", "coherence=watch,noopen,attr_timeout=1"] {
        let output = pathwalk().args(["mount", &source]).arg(point.path()).args(["-o", mode]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("the option \"noopen\" is for mem"), "{mode}: {said}");
    }
}

#[test]
fn writes_come_later_where_no_other_program_changes_the_tree() {
    let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
    let source = format!("host:{}", host.path().display());
    let output = pathwalk().args(["mount", &source]).arg(point.path()).args(["-o", "writeback"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the option \"writeback\" is for mem"), "{said}");
    let options = ["-o", "coherence=exclusive,writeback"];
    let Some(served) = Served::start("a directory that is written later", &source, &point, &options) else { return };
    let mut file = fs::File::create(point.at("file")).unwrap();
    file.write_all(b"late").unwrap();
    assert_eq!(fs::metadata(host.path().join("file")).unwrap().len(), 0);
    drop(file);
    assert_eq!(fs::read(host.path().join("file")).unwrap(), b"late");
    drop(served);
}

#[test]
fn a_namespace_has_all_its_mounts() {
    let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
    fs::create_dir_all(host.path().join("src/sub")).unwrap();
    fs::create_dir(host.path().join("guest")).unwrap();
    fs::write(host.path().join("src/sub/file"), "text").unwrap();
    fs::write(host.path().join("guest/file"), "text").unwrap();
    let file = host.path().join("names.toml");
    let text = "options = 'dev'\n\
        [[mount]]\nat = '/'\nsource = 'mem'\noptions = 'size=1M'\n\
        [[mount]]\nat = '/code/src'\nsource = 'host:src'\noptions = 'ro,coherence=exclusive'\n\
        [[mount]]\nat = '/tmp'\nsource = 'mem'\noptions = 'mode=1777'\n\
        [[mount]]\nat = '/bound'\nbind = '/code'\nrecursive = true\n\
        [[mount]]\nat = '/shown'\nbind = '/tmp'\noptions = 'ro'\n\
        [[mount]]\nat = '/guest'\nsource = 'host:guest'\noptions = 'coherence=exclusive'\n\
        uids = [{ inside = 0, outside = 1000, length = 1 }]\ngids = [{ inside = 0, outside = 1000, length = 1 }]\n";
    fs::write(&file, text).unwrap();
    let Some(mut served) = Served::start("a namespace", &file, &point, &["-o", "nodev"]) else { return };
    assert_eq!(fs::read(point.at("code/src/sub/file")).unwrap(), b"text");
    assert_eq!(fs::write(point.at("code/src/sub/file"), "").unwrap_err().raw_os_error(), Some(30));
    fs::write(point.at("tmp/file"), "text").unwrap();
    assert_eq!(fs::read(point.at("shown/file")).unwrap(), b"text");
    assert_eq!(fs::write(point.at("shown/file"), "").unwrap_err().raw_os_error(), Some(30));
    fs::write(point.at("tmp/file"), "other text").unwrap();
    fs::write(point.at("code/file"), "text").unwrap();
    assert_eq!(fs::read(point.at("bound/file")).unwrap(), b"text");
    assert_eq!(fs::read(point.at("bound/src/sub/file")).unwrap(), b"text");
    assert_eq!(fs::write(point.at("bound/src/sub/file"), "").unwrap_err().raw_os_error(), Some(30));
    if rustix::process::geteuid().is_root() {
        assert_eq!(fs::metadata(point.at("guest/file")).unwrap().uid(), 1000);
        std::os::unix::fs::chown(point.at("guest/file"), Some(1000), Some(1000)).unwrap();
        assert_eq!(fs::metadata(host.path().join("guest/file")).unwrap().uid(), 0);
    }
    assert!(point.mounted().unwrap().contains("nodev"));
    served.signal(Signal::TERM);
    assert_eq!(served.ended().code(), Some(0));
    for (more, says) in [
        ("[[mount]]\nat = '/code/src/new'\nsource = 'mem'\n", "there is no such directory"),
        ("[[mount]]\nat = '/code/src/sub/file'\nsource = 'mem'\n", "it is no directory"),
        ("[[mount]]\nat = '/x'\nbind = '/absent'\n", "list its mount before"),
        ("[[mount]]\nat = '/y'\nsource = 'mem'\nkind = 'x'\n", "line 31: unknown field `kind`"),
    ] {
        fs::write(&file, format!("{text}{more}")).unwrap();
        refused(file.to_str().unwrap(), &point, &[], says);
    }
}

#[test]
fn a_service_manager_is_told() {
    let (dir, point) = (tempfile::tempdir().unwrap(), Point::new());
    let socket = UnixDatagram::bind(dir.path().join("notify")).unwrap();
    let mut command = pathwalk();
    command.args(["mount", "-f", "mem"]).arg(point.path()).env("NOTIFY_SOCKET", dir.path().join("notify"));
    let Some(mut served) = Served::run("a service manager", &mut command) else { return };
    let mut message = [0; 64];
    let length = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"READY=1\n");
    served.signal(Signal::TERM);
    let length = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"STOPPING=1\n");
    assert_eq!(served.ended().code(), Some(0));
}

/// Runs a script in a mount namespace of its own, with the program, a directory and another one as
/// its arguments. Reports a skipped test where that is not possible.
fn in_a_namespace(what: &str, script: &str, dirs: [&Path; 2]) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_pathwalk")]);
    let output = match command.args(dirs).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(what, &format!("unshare: {error}"));
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unshare: ") || errors.contains("mount: ") || errors.contains("setpriv: ") {
        skipped(what, errors.trim());
        return None;
    }
    Some(output)
}

#[test]
fn errors_say_what_to_do() {
    let what = "errors of mounting";
    if !rustix::process::geteuid().is_root() {
        return skipped(what, "it needs root");
    }
    let (dir, point) = (tempfile::tempdir().unwrap(), Point::new());
    for (script, says) in [
        ("mount -t tmpfs none /dev && exec \"$1\" mount -f mem \"$3\"", "load it by: modprobe fuse"),
        (
            "exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin \"$1\" mount -f mem \"$3\"",
            "unshare --user --map-root-user --mount",
        ),
        (
            "exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin env PATH=/no \"$1\" mount -f mem \"$3\"",
            "install it (package fuse3)",
        ),
    ] {
        let Some(output) = in_a_namespace(what, script, [dir.path(), point.path()]) else { return };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(says), "{script}: {errors}");
        assert_eq!(point.mounted(), None);
    }
}

#[test]
fn what_covers_the_mount_is_left_alone() {
    let what = "a mount that is covered";
    let point = Point::new();
    let Some(mut served) = Served::start(what, "mem", &point, &[]) else { return };
    if let Err(error) = rustix::mount::mount("cover", point.path(), "tmpfs", rustix::mount::MountFlags::empty(), None) {
        return skipped(what, &format!("mounting a tmpfs: {error}"));
    }
    fs::write(point.at("file"), "of the cover").unwrap();
    served.signal(Signal::TERM);
    assert_eq!(served.ended().code(), Some(2));
    assert_eq!(fs::read(point.at("file")).unwrap(), b"of the cover");
    point.unmount();
    point.unmount();
}

/// Runs the steps of a user without privilege in a mount namespace, in which the user may open the
/// device.
#[test]
fn a_user_mounts_by_fusermount3() {
    let what = "mounting by fusermount3";
    let dir = crate::common::place_for_all();
    let Some(dir) = dir.filter(|_| rustix::process::geteuid().is_root()) else {
        return skipped(what, "it needs root, and a place for all users");
    };
    let script = r#"set -eu
cd "$2"
cp "$1" pathwalk
mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse
mkdir m; chown 1000:1000 m
user() { setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all "$@"; }
user ./pathwalk mount mem m
grep -q ' fuse.pathwalk rw,nosuid,nodev,relatime,user_id=1000' /proc/self/mounts
user sh -c 'echo text >m/file; [ "$(cat m/file)" = text ]'
if user ./pathwalk mount mem m 2>err; then exit 3; fi
grep -q 'pathwalk umount' err
user fusermount3 -u m
user unshare --user --map-root-user --mount sh -ec \
  './pathwalk mount mem m; echo text >m/file; [ "$(cat m/file)" = text ]; ./pathwalk umount m; [ ! -e m/file ]'
chmod 600 fuse
if user ./pathwalk mount mem m 2>err; then exit 6; fi
grep -q 'chmod 666 /dev/fuse' err
chmod 666 fuse
for option in dev allow_other; do
  if user ./pathwalk mount mem m -o $option 2>err; then exit 4; fi
done
if user ./pathwalk mount mem /usr 2>err; then exit 5; fi
grep -q 'no write access.*that you may write to' err
"#;
    if ["fusermount3", "setpriv", "unshare"].iter().any(|name| Command::new(name).arg("--version").output().is_err()) {
        return skipped(what, "fusermount3, setpriv or unshare is not there");
    }
    let Some(output) = in_a_namespace(what, script, [dir.path(), dir.path()]) else { return };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("mknod:") {
        return skipped(what, errors.trim());
    }
    let said = fs::read_to_string(dir.path().join("err")).unwrap_or_default();
    assert!(output.status.success(), "{}: {errors} {said}", output.status);
}
