//! The advice: commands that can be pasted, and their effects.
//!
//! Commands use the paths that this process uses, also with another root. What it does not do: run
//! the commands, or judge whether running them is wise.

use std::os::unix::ffi::OsStrExt;

use pathwalk::Access;
use pathwalk::permission::{AclTag, Class};

use super::bytes::{shell, shown};
use super::landlock;
use super::rule::{Node, Rule};
use super::told::Failure;
use super::words::{Voice, doing_all, short};

/// One piece of advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Advice {
    /// The command for a shell, where the advice is one.
    pub(crate) command: Option<String>,
    /// The effect of the command, or the advice in words.
    pub(crate) says: String,
}

fn run(command: String, says: impl Into<String>) -> Advice {
    Advice { command: Some(command), says: says.into() }
}

fn say(says: impl Into<String>) -> Advice {
    Advice { command: None, says: says.into() }
}

/// Returns advice about a walk that failed, the likeliest first.
pub(crate) fn about_failure(voice: Voice<'_>, failure: &Failure, path: &[u8]) -> Vec<Advice> {
    let node = failure.node.as_ref();
    let at = node.and_then(|node| node.path.as_deref()).map(|path| shell(&voice.outer(path)));
    match failure.rule {
        Rule::Absent => about_absence(voice, failure),
        Rule::Dangling => about_dangling(voice, failure),
        Rule::TrailingSlash => vec![say("remove the trailing slash, or name a directory")],
        Rule::NotADirectory => vec![say(format!("name a directory before \"{}\"", shown(&failure.name)))],
        Rule::Removed => vec![run("cd /".into(), "leave what was removed; another directory of that name may be there by now")],
        Rule::NameTooLong => vec![say(format!("shorten the name by {} bytes or more", failure.name.len().saturating_sub(255)))],
        Rule::PathTooLong => vec![say("change into a directory on the way, and name the rest from there")],
        Rule::EmptyPath => vec![say("name something; the directory where you are is called \".\"")],
        Rule::TooManyLinks => about_links(voice, failure),
        Rule::ProtectedLink => about_protection(voice, failure),
        Rule::NoSymFollow => {
            let mut all = by_name(failure);
            all.extend(node.and_then(|node| remount(node, "symfollow", "lets this mount follow links")));
            all
        }
        Rule::LinkBody => at.map(|at| run(format!("readlink {at}"), "says what is wrong with the link")).into_iter().collect(),
        Rule::NotVisible => {
            vec![say(format!("run this as root, which may look everywhere: sudo pathwalk explain {}", shell(path)))]
        }
        Rule::FileSystem => vec![say(
            "read the kernel's log (dmesg) and the audit log (ausearch -m AVC); for a network file system, its server's log",
        )],
        rule => node.map(|node| grant(voice, node, rule, Access::EXECUTE)).unwrap_or_default(),
    }
}

fn about_absence(voice: Voice<'_>, failure: &Failure) -> Vec<Advice> {
    if failure.near.is_empty() {
        let dir = failure.node.as_ref().and_then(|dir| dir.path.as_deref()).unwrap_or(b"/");
        return vec![run(format!("ls -la {}", shell(&voice.outer(dir))), "shows what is there")];
    }
    vec![did_you_mean(failure)]
}

fn did_you_mean(failure: &Failure) -> Advice {
    let near: Vec<String> = failure.near.iter().map(|name| format!("\"{}\"", shown(name))).collect();
    say(format!("did you mean {}?", near.join(" or ")))
}

fn about_dangling(voice: Voice<'_>, failure: &Failure) -> Vec<Advice> {
    let link = failure.link.as_ref().map(|(path, _)| shell(&voice.outer(path))).unwrap_or_default();
    let mut all = vec![run(format!("ln -sfn TARGET {link}"), "mends the link, with what it should lead to as TARGET")];
    all.push(say(format!("or make \"{}\", where the link leads", shown(&failure.name))));
    if !failure.near.is_empty() {
        all.push(did_you_mean(failure));
    }
    all
}

fn about_links(voice: Voice<'_>, failure: &Failure) -> Vec<Advice> {
    match failure.circle.first() {
        Some(link) => {
            let link = shell(&voice.outer(link));
            vec![run(format!("ln -sfn TARGET {link}"), "opens the circle, with what the link should lead to as TARGET")]
        }
        None => vec![say("point the links directly at their target: \"realpath\" of a part of the chain prints it")],
    }
}

fn by_name(failure: &Failure) -> Vec<Advice> {
    let body = failure.link.as_ref().map(|(_, body)| say(format!("name the link's target instead: \"{}\"", shown(body))));
    body.into_iter().collect()
}

fn about_protection(voice: Voice<'_>, failure: &Failure) -> Vec<Advice> {
    let mut all = by_name(failure);
    if let Some(path) = failure.node.as_ref().and_then(|node| node.path.as_deref()) {
        let (user, link) = (shell(voice.user_outside().as_bytes()), shell(&voice.outer(path)));
        all.push(run(format!("chown -h {user} {link}"), format!("makes it {}'s own link", voice.user())));
    }
    all.push(say("do not turn the switch off: it keeps others from leading programs astray in such directories"));
    all
}

/// Returns advice that gives the user the access `want` to a node, which `rule` refuses.
pub(crate) fn grant(voice: Voice<'_>, node: &Node, rule: Rule, want: Access) -> Vec<Advice> {
    let Some(path) = node.path.as_deref() else { return Vec::new() };
    let (at, user, x) = (shell(&voice.outer(path)), voice.user(), short(want));
    let what = doing_all(node.attributes.kind, want);
    let alone = |has: Access| {
        let outside = shell(voice.user_outside().as_bytes());
        run(format!("setfacl -m u:{outside}:{} {at}", short(has | want)), format!("lets {user} alone {what} it"))
    };
    let all_users = || run(format!("chmod o+{x} {at}"), format!("lets all users {what} it"));
    match rule {
        Rule::Bits(Class::Owner, _) => vec![run(format!("chmod u+{x} {at}"), format!("lets its owner {what} it"))],
        Rule::Bits(Class::Group, grants) => {
            let group = voice.names.group(node.attributes.gid);
            vec![run(format!("chmod g+{x} {at}"), format!("lets all of group {group} {what} it")), alone(grants)]
        }
        Rule::Bits(Class::Other, grants) => {
            let mut all = vec![all_users(), alone(grants)];
            all.extend(by_group(voice, node, want));
            all
        }
        Rule::Mask(_, mask) => {
            vec![run(
                format!("setfacl -m m::{} {at}", short(mask | want)),
                "widens the list's mask, which goes for all but owner and others",
            )]
        }
        Rule::Entry(entry, _) if entry.tag == AclTag::Other => vec![all_users(), alone(entry.grants)],
        Rule::Entry(entry, _) => vec![alone(entry.grants)],
        Rule::NoEntry => vec![alone(Access::empty())],
        Rule::NoExecuteBit => vec![run(format!("chmod +x {at}"), "if it is a program")],
        Rule::NoExec => {
            let elsewhere = say("copy the program to where programs may run");
            [elsewhere].into_iter().chain(remount(node, "exec", "lets programs run there")).collect()
        }
        Rule::ReadOnlyMount | Rule::ReadOnlyFileSystem => {
            remount(node, "rw", "if it is not read-only for a reason; dmesg shows errors").into_iter().collect()
        }
        Rule::Landlock(number, right) => {
            let line = landlock::line(right, std::path::Path::new(std::ffi::OsStr::from_bytes(path)));
            vec![say(format!("add to ruleset {}, for this node and all below it: {line}", number + 1))]
        }
        Rule::Immutable => vec![run(format!("chattr -i {at}"), "lets it be changed again")],
        _ => Vec::new(),
    }
}

/// Returns the command that changes a switch of the mount that a node is on, where that mount is
/// known.
fn remount(node: &Node, switch: &str, says: &str) -> Option<Advice> {
    let line = node.mount.as_ref()?.line.as_ref()?;
    Some(run(format!("mount -o remount,{switch} {}", shell(&line.point)), says))
}

/// Returns the command that makes the user a member of the node's group, where that helps and does
/// not make the user root.
fn by_group(voice: Voice<'_>, node: &Node, want: Access) -> Option<Advice> {
    let (uid, gid) = (voice.who.uid, node.attributes.gid);
    let helps = gid != 0 && voice.names.know(uid, gid) && Class::Group.grants(node.attributes.mode).contains(want);
    let (group, user) = (voice.names.group(gid), voice.user());
    let root = if voice.is_at_home() { String::new() } else { format!("--root {} ", shell(&voice.outer(b"/"))) };
    helps.then(|| {
        run(
            format!("usermod {root}-aG {} {}", shell(group.as_bytes()), shell(user.as_bytes())),
            format!("makes {user} one of group {group}, from the next login on"),
        )
    })
}
