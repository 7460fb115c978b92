//! Whose rights a thread has, beside what `/proc` tells of it.

use std::fs::read_to_string;
use std::thread;

use pathwalk::permission::{Ids, OVERFLOW_ID};
use pathwalk::{Capabilities, Credentials};
use pathwalk_hostfs::credentials;
use pathwalk_tests::skipped;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Capabilities by their numbers. Source: `linux/capability.h`.
const NUMBERS: [(u32, Capabilities); 10] = [
    (0, Capabilities::CHOWN),
    (1, Capabilities::DAC_OVERRIDE),
    (2, Capabilities::DAC_READ_SEARCH),
    (3, Capabilities::FOWNER),
    (4, Capabilities::FSETID),
    (21, Capabilities::SYS_ADMIN),
    (31, Capabilities::SETFCAP),
    (9, Capabilities::LINUX_IMMUTABLE),
    (27, Capabilities::MKNOD),
    (28, Capabilities::LEASE),
];

/// Returns the numbers behind a word of `status` in `proc_pid_status(5)`.
fn told(status: &str, word: &str, radix: u32) -> Vec<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(word)).unwrap();
    line.split_whitespace().map(|number| u64::from_str_radix(number, radix).unwrap()).collect()
}

/// Returns the credentials of the calling thread by `/proc`.
fn by_proc() -> Option<Credentials> {
    let status = read_to_string("/proc/thread-self/status").ok()?;
    let ids = |word| told(&status, word, 10).iter().map(|id| *id as u32).collect::<Vec<u32>>();
    let (uids, gids, mut groups) = (ids("Uid:"), ids("Gid:"), ids("Groups:"));
    groups.retain(|gid| *gid != OVERFLOW_ID);
    let set = |word| {
        let bits = told(&status, word, 16)[0];
        NUMBERS.iter().filter(|(number, _)| bits >> number & 1 != 0).map(|(_, ours)| *ours).collect()
    };
    let user = Credentials::user(uids[1], gids[1], &groups).with_real(Ids { uid: uids[0], gid: gids[0] });
    Some(user.with_capability_sets(set("CapPrm:"), set("CapEff:")))
}

#[test]
fn a_thread_has_the_rights_that_proc_tells() {
    let Some(expected) = by_proc() else {
        return skipped("a_thread_has_the_rights_that_proc_tells", "there is no /proc/thread-self/status");
    };
    assert_eq!(credentials(), Ok(expected));
}

/// All ids differ, and what is permitted is not effective.
#[test]
fn real_and_effective_rights_are_told_apart() {
    if !geteuid().is_root() || by_proc().is_none() {
        return skipped("real_and_effective_rights_are_told_apart", "this takes root, and /proc/thread-self/status");
    }
    // Only this thread's.
    let changed = thread::spawn(|| {
        let [uid, other_uid] = [21, 22].map(Uid::from_raw);
        let [gid, other_gid] = [11, 12].map(Gid::from_raw);
        set_thread_groups(&[7, OVERFLOW_ID, 3].map(Gid::from_raw))?;
        set_thread_res_gid(gid, other_gid, other_gid)?;
        set_thread_res_uid(uid, other_uid, Uid::ROOT)?;
        rustix::io::Result::Ok((credentials(), by_proc()))
    });
    match changed.join().unwrap() {
        Ok((ours, expected)) => {
            let ours = ours.unwrap();
            assert_eq!(Some(&ours), expected.as_ref());
            assert_eq!((ours.real().uid(), ours.effective().uid(), ours.real().gid(), ours.effective().gid()), (21, 22, 11, 12));
            assert!(ours.effective().in_group(7) && ours.effective().in_group(3) && !ours.effective().in_group(OVERFLOW_ID));
            assert!(!ours.effective().has(Capabilities::CHOWN));
        }
        Err(errno) => skipped("real_and_effective_rights_are_told_apart", &format!("ids cannot be changed: {errno}")),
    }
}
