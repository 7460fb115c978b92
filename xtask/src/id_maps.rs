//! Id maps in the engine's form and in the kernel's, as a user namespace.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use pathwalk::{IdExtent, IdMap};

type Extents = &'static [(u32, u32, u32)];

/// Extents of users and of groups: inside, outside, length. The fifth map maps each id to itself.
/// The last has more extents than the kernel searches one by one.
pub const MAPS: [(Extents, Extents); 6] = [
    (&[(0, 100_000, 65_536)], &[(0, 100_000, 65_536)]),
    (&[(0, 1000, 1), (1000, 0, 1), (2000, 2000, 5)], &[(0, 0, 1), (1000, 2000, 1), (2000, 1000, 1)]),
    (&[(1000, 1000, 1)], &[(1000, 1000, 1)]),
    (&[(0, 0, 1), (1000, 1001, 1), (1001, 1000, 1), (1002, 7, 1)], &[(0, 0, 1), (7, 1000, 1), (1000, 7, 1), (1002, 1002, 1)]),
    (&[(0, 0, u32::MAX)], &[(0, 0, u32::MAX)]),
    (
        &[
            (0, 2000, 1),
            (1000, 5000, 1),
            (1001, 1001, 1),
            (2000, 100_000, 1),
            (5000, 0, 1),
            (100_000, 101_000, 1),
            (101_000, 1000, 1),
        ],
        &[
            (0, 1000, 1),
            (1000, 0, 1),
            (2000, 5000, 1),
            (5000, 101_000, 1),
            (100_000, 2000, 1),
            (101_000, 100_000, 1),
            (65_534, 65_534, 1),
        ],
    ),
];

/// Returns a map in the engine's form.
pub fn map(number: usize) -> IdMap {
    let extents = |of: Extents| -> Vec<IdExtent> {
        of.iter().map(|&(inside, outside, length)| IdExtent { inside, outside, length }).collect()
    };
    let (uids, gids) = MAPS[number];
    IdMap::new(&extents(uids), &extents(gids)).expect("a map")
}

/// Returns a user namespace for each map, or an error if this process may not create one.
pub fn namespaces() -> Result<&'static [OwnedFd], &'static str> {
    static MADE: OnceLock<Result<Vec<OwnedFd>, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| MAPS.iter().map(|map| namespace(map).map_err(|error| error.to_string())).collect());
    made.as_deref().map_err(|why| why.as_str())
}

/// Creates a user namespace, by means of a process that ends at once.
fn namespace((uids, gids): &(Extents, Extents)) -> std::io::Result<OwnedFd> {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    // SAFETY: `unshare` may be called between `fork` and `exec`, and touches no memory.
    unsafe {
        command.pre_exec(|| match libc::unshare(libc::CLONE_NEWUSER) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = command.spawn()?;
    let opened = (|| {
        let of = |name: &str| format!("/proc/{}/{name}", child.id());
        for (name, extents) in [("uid_map", uids), ("gid_map", gids)] {
            let lines = extents.iter().map(|(inside, outside, length)| format!("{inside} {outside} {length}\n"));
            // In one write, as the kernel requires.
            std::fs::OpenOptions::new().write(true).open(of(name))?.write_all(lines.collect::<String>().as_bytes())?;
        }
        std::fs::File::open(of("ns/user")).map(OwnedFd::from)
    })();
    drop(child.stdin.take());
    child.wait()?;
    opened
}
