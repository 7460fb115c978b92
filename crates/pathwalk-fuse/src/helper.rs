//! Mounting for users without privilege, by the program `fusermount3` of libfuse.
//!
//! That program is suid root. It checks that the user may write to the mount point, opens the
//! device, mounts, and passes the descriptor back through a socket, which is its standard input.
//!
//! What always holds: the program is not waited for without end, since it ends by itself.
//!
//! Source: `fusermount3(1)`, and `_FUSE_COMMFD` in libfuse's `mount.c`.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::io;
use rustix::mount::MountFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};

use crate::WhileInUse;
use crate::device::Mounting;

const PROGRAM: &str = "fusermount3";

/// The variable that names the socket.
const SOCKET: &str = "_FUSE_COMMFD";

/// The reason that the program did not do it.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It cannot be run.
    NotThere,
    /// It refused, in these words.
    Said(String),
}

/// Mounts on a directory, and returns the descriptor of the mount.
pub(crate) fn mount(at: &Path, mounting: &Mounting<'_>) -> Result<OwnedFd, Refusal> {
    if !mounting.flags.contains(MountFlags::NODEV | MountFlags::NOSUID) {
        // The program would leave them out, and mount.
        return Err(Refusal::Said("the options dev and suid are for callers that have it".into()));
    }
    let said = |errno: io::Errno| Refusal::Said(errno.to_string());
    let (own, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(said)?;
    let mut command = Command::new(PROGRAM);
    command.args(["-o", &options(mounting), "--"]).arg(at).env(SOCKET, "0").stdin(theirs);
    let output = command.output();
    // The command's own copy of the socket has to go, or the answer has no end.
    drop(command);
    finished(output)?;
    received(&own).map_err(said)?.ok_or_else(|| Refusal::Said("it passed no descriptor".into()))
}

/// Unmounts what the user mounted.
///
/// The exit code of the program is the same for all errors. Its words end with those of the C
/// library for the error, in English: the variable `LC_ALL` is set for it.
pub(crate) fn unmount(at: &Path, how: WhileInUse) -> Result<(), Refusal> {
    let mut command = Command::new(PROGRAM);
    command.env("LC_ALL", "C");
    command.arg("-u").args((how == WhileInUse::Goes).then_some("-z")).arg("--").arg(at).stdin(Stdio::null());
    finished(command.output())
}

/// Returns whether these are the words about a mount that is in use.
pub(crate) fn is_busy(said: &str) -> bool {
    said.trim_end().ends_with(": Device or resource busy")
}

fn finished(output: std::io::Result<Output>) -> Result<(), Refusal> {
    let output = output.map_err(|_| Refusal::NotThere)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Refusal::Said(if said.is_empty() { format!("{PROGRAM}: {}", output.status) } else { said }))
}

/// Receives the descriptor, if one was sent.
fn received(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = with.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.flatten().next())
}

/// Returns the options as the program takes them.
fn options(mounting: &Mounting<'_>) -> String {
    let mut options = String::from("nodev,nosuid,default_permissions,subtype=pathwalk,fsname=");
    for character in mounting.source.chars() {
        if matches!(character, ',' | '\\') {
            options.push('\\');
        }
        options.push(character);
    }
    let words =
        [(MountFlags::RDONLY, "ro", "rw"), (MountFlags::NOEXEC, "noexec", "exec"), (MountFlags::SYNCHRONOUS, "sync", "async")];
    for (flag, set, clear) in words {
        options.push(',');
        options += if mounting.flags.contains(flag) { set } else { clear };
    }
    if mounting.is_for_all {
        options += ",allow_other";
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_in_use_is_told_by_its_error_and_not_by_its_path() {
        assert!(is_busy("fusermount3: failed to unmount /a/b: Device or resource busy\n"));
        assert!(!is_busy("fusermount3: entry for /busy: Device or resource busy/x not found in /etc/mtab"));
    }

    #[test]
    fn a_source_is_one_option() {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        let mounting = Mounting { source: "host:/a,b\\c", flags, is_for_all: true };
        let expected = "nodev,nosuid,default_permissions,subtype=pathwalk,fsname=host:/a\\,b\\\\c,ro,exec,async,allow_other";
        assert_eq!(options(&mounting), expected);
    }
}
