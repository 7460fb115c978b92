//! The sentences of the report: rules and endings in words.
//!
//! What it does not do: give advice ([`advice`](super::advice)), or lay out the text.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use pathwalk::permission::{AclEntry, AclTag, Class};
use pathwalk::{Access, Capabilities, FileType};

use super::bytes::{shortened, shown};
use super::landlock;
use super::mounts::Mount;
use super::rule::{Node, Rule};
use super::told::{Doubt, Failure};
use super::who::{Names, Who};

/// The length of the longest name or path that is shown whole.
pub(crate) const LONGEST: usize = 300;

/// The user of the report, and the names to use.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub(crate) who: &'a Who,
    pub(crate) names: &'a Names,
    /// The root of the walk, as a path of this process.
    pub(crate) root: &'a Path,
}

/// Returns an access as letters, such as `r-x`.
pub(crate) fn letters(access: Access) -> String {
    let letter = |bit, letter| if access.contains(bit) { letter } else { '-' };
    [letter(Access::READ, 'r'), letter(Access::WRITE, 'w'), letter(Access::EXECUTE, 'x')].iter().collect()
}

/// Returns an access as letters without dashes, such as `rx`.
pub(crate) fn short(access: Access) -> String {
    letters(access).replace('-', "")
}

/// Returns the name of a type, with an article.
pub(crate) fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::CharDevice => "a character device",
        FileType::Directory => "a directory",
        FileType::BlockDevice => "a block device",
        FileType::Regular => "a regular file",
        FileType::Symlink => "a symbolic link",
        FileType::Socket => "a socket",
    }
}

/// Returns the verb for an access to a node of this type.
pub(crate) fn doing(kind: FileType, want: Access) -> &'static str {
    match want {
        Access::READ if kind == FileType::Directory => "list",
        Access::READ => "read",
        Access::WRITE => "write",
        _ if kind == FileType::Directory => "search",
        _ => "execute",
    }
}

/// Returns the verbs for an access to a node of this type, such as `read and write`.
pub(crate) fn doing_all(kind: FileType, want: Access) -> String {
    let all = [Access::READ, Access::WRITE, Access::EXECUTE].into_iter().filter(|one| want.contains(*one));
    all.map(|one| doing(kind, one)).collect::<Vec<_>>().join(" and ")
}

impl Voice<'_> {
    pub(crate) fn user(&self) -> String {
        self.names.user(self.who.uid)
    }

    /// Returns the user's introduction, such as
    /// `alice (uid 1000), of group users, and of audio, staff`.
    pub(crate) fn introduced(&self) -> String {
        let Who { uid, gid, groups, .. } = self.who;
        let listed: Vec<String> = groups.iter().map(|gid| self.names.group(*gid)).collect();
        let more = if listed.is_empty() { String::new() } else { format!(", and of {}", listed.join(", ")) };
        format!("{} (uid {uid}), of group {}{more}{}", self.user(), self.names.group(*gid), self.capabilities())
    }

    /// Returns the capabilities that matter, where they are not those that the user suggests.
    fn capabilities(&self) -> String {
        let who = self.who.credentials.effective();
        let names = [(Capabilities::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"), (Capabilities::DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH")];
        let (held, missing): (Vec<_>, Vec<_>) = names.iter().partition(|(capability, _)| who.has(*capability));
        let list = |of: Vec<&(_, &'static str)>| of.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" and ");
        match self.who.uid {
            0 if missing.is_empty() => String::new(),
            0 => format!(", without {}", list(missing)),
            _ if held.is_empty() => String::new(),
            _ => format!(", with {}", list(held)),
        }
    }

    /// Returns the user for commands. A name of another root has no meaning outside of it, so then
    /// it is the number.
    pub(crate) fn user_outside(&self) -> String {
        if self.is_at_home() { self.user() } else { self.who.uid.to_string() }
    }

    /// Returns whether commands work on the tree that is walked.
    pub(crate) fn is_at_home(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns a path of the walk, for reading.
    pub(crate) fn path(&self, node: &Node) -> String {
        node.path.as_ref().map_or("what was removed".into(), |path| shortened(path, LONGEST))
    }

    /// Returns a path of the walk as a path of this process, for commands.
    pub(crate) fn outer(&self, path: &[u8]) -> Vec<u8> {
        if self.is_at_home() {
            return path.to_vec();
        }
        let below = path.strip_prefix(b"/").unwrap_or(path);
        let joined: PathBuf = self.root.join(std::ffi::OsStr::from_bytes(below));
        joined.into_os_string().into_vec()
    }

    /// Returns why `rule` grants or refuses `want`.
    pub(crate) fn rule(&self, node: &Node, rule: Rule, want: Access) -> String {
        match rule {
            Rule::Bits(Class::Owner, grants) => format!("its owner {} has {}", self.user(), letters(grants)),
            Rule::Bits(Class::Group, grants) => {
                format!("its group {} has {}", self.names.group(node.attributes.gid), letters(grants))
            }
            Rule::Bits(Class::Other, grants) => format!("others have {}", letters(grants)),
            Rule::Entry(entry, _) => format!("its ACL's entry {} decides", self.entry(entry)),
            Rule::Mask(entry, mask) => {
                let taken = letters(want - mask).replace('-', "");
                format!("the mask {} of its ACL cuts {taken} off the entry {}", letters(mask), self.entry(entry))
            }
            Rule::NoEntry => format!("its access control list has no entry for {}", self.user()),
            Rule::Capability(name) => format!("{name} overrides the mode"),
            Rule::NoExecuteBit => "it has no x bit at all, and no capability makes up for that".into(),
            Rule::NoExec => format!("{} is mounted noexec", point(node)),
            Rule::ReadOnlyMount => format!("{} is mounted read-only", point(node)),
            Rule::ReadOnlyFileSystem => format!("the file system on {} is read-only", point(node)),
            Rule::Immutable => "it is immutable (chattr +i)".into(),
            Rule::Landlock(number, right) => {
                format!("ruleset {} of Landlock does not grant {} there", number + 1, landlock::names(right))
            }
            Rule::NotVisible => "this process may not read its access control list".into(),
            _ => "its file system or a security module says so".into(),
        }
    }

    /// Returns an entry of a list as `getfacl(1)` shows it, such as `user:alice:r-x`.
    fn entry(&self, entry: AclEntry) -> String {
        let name = match entry.tag {
            AclTag::User(uid) => format!("user:{}", self.names.user(uid)),
            AclTag::Group => "group:".into(),
            AclTag::NamedGroup(gid) => format!("group:{}", self.names.group(gid)),
            AclTag::Owner => "user:".into(),
            AclTag::Mask | AclTag::Other => "other:".into(),
        };
        format!("{name}:{}", letters(entry.grants))
    }

    /// Returns why the walk ends.
    pub(crate) fn failure(&self, failure: &Failure, path: &[u8]) -> String {
        let Failure { rule, node, name, .. } = failure;
        let at = node.as_ref().map_or("the path".into(), |node| self.path(node));
        let what = node.as_ref().map_or("nothing", |node| kind(node.attributes.kind));
        let name = shortened(name, LONGEST);
        match rule {
            Rule::NotADirectory => format!("{at} is {what}, so there can be no \"{name}\" below it"),
            Rule::TrailingSlash => format!("{at} is {what}, and the slash behind it asks for a directory"),
            Rule::Absent => format!("there is no \"{name}\" in {at}"),
            Rule::Dangling => {
                let (link, body) = failure.link.clone().unwrap_or_default();
                let (link, body) = (shortened(&link, LONGEST), shortened(&body, LONGEST));
                format!("the link {link} leads to \"{body}\", but there is no \"{name}\" in {at}")
            }
            Rule::Removed => "the directory where the walk is was removed, so nothing can be found in it".into(),
            Rule::NameTooLong => format!("a name has {} bytes; 255 is the most", failure.name.len()),
            Rule::PathTooLong => format!("the path has {} bytes; 4095 is the most", path.len()),
            Rule::EmptyPath => "the path is empty, which names nothing".into(),
            Rule::TooManyLinks if failure.circle.is_empty() => "more than 40 links are on the way".into(),
            Rule::TooManyLinks => {
                let circle: Vec<String> = failure.circle.iter().map(|path| shortened(path, LONGEST)).collect();
                format!("the links lead in a circle: {}", circle.join(" -> "))
            }
            Rule::ProtectedLink => self.protected(failure, &at),
            Rule::NoSymFollow => format!(
                "{at} is a link, and its mount{} follows none (nosymfollow)",
                node.as_ref().map_or_else(String::new, at_point)
            ),
            Rule::LinkBody => format!("where the link {at} leads cannot be read"),
            Rule::NotVisible => {
                format!("this process may not look into {at} itself, so it cannot tell what {} would find there", self.user())
            }
            Rule::FileSystem => format!("at {at} the file system or a security module answers so, for reasons of its own"),
            _ => {
                let why = node.as_ref().map_or_else(String::new, |node| self.rule(node, *rule, Access::EXECUTE));
                format!("{} may not search {at}: {why}, and it takes x", self.user())
            }
        }
    }

    fn protected(&self, failure: &Failure, at: &str) -> String {
        let owner = |node: &Option<Node>| node.as_ref().map_or("?".into(), |node| self.names.user(node.attributes.uid));
        let dir = failure.dir.as_ref().map_or("its directory".into(), |dir| self.path(dir));
        let (user, keeper) = (self.user(), owner(&failure.dir));
        let others = if user == keeper { format!("not to {user}") } else { format!("neither to {user} nor to {keeper}") };
        format!(
            "fs.protected_symlinks: {dir} is sticky and all users may write to it, and the link {at} there belongs to {}, \
             {others}, whose directory it is",
            owner(&failure.node),
        )
    }

    /// Returns why the kernel may give another answer.
    pub(crate) fn doubt(&self, doubt: &Doubt) -> String {
        match doubt {
            Doubt::MagicLink(path) => {
                format!(
                    "the kernel jumps through {} to what is open there, whatever its text says; here its text was followed",
                    shown(path)
                )
            }
            Doubt::AppendOnly => {
                "it is append-only (chattr +a): an open for writing takes O_APPEND, and is EPERM without it; none may truncate it"
                    .into()
            }
            Doubt::OwnRules(kind, point) => {
                format!("{} at {} may refuse by rules of its own, which neither mode nor list shows", shown(kind), shown(point))
            }
        }
    }
}

/// Returns the mount point of the node's mount.
pub(crate) fn point(node: &Node) -> String {
    let line = node.mount.as_ref().and_then(|mount| mount.line.as_ref());
    line.map_or("its mount".into(), |line| shown(&line.point))
}

fn at_point(node: &Node) -> String {
    let line = node.mount.as_ref().and_then(|mount| mount.line.as_ref());
    line.map_or(String::new(), |line| format!(" at {}", shown(&line.point)))
}

/// Returns the description of a mount, such as `tmpfs pathwalk, ro noexec`.
pub(crate) fn mount(mount: &Mount) -> String {
    let what = mount.line.as_ref().map(|line| format!("{} {}", shown(&line.kind), shown(&line.source)));
    let switches = mount.switches();
    let switches = if switches.is_empty() { String::new() } else { format!(", {}", switches.join(" ")) };
    what.unwrap_or_else(|| "another mount".into()) + &switches
}
