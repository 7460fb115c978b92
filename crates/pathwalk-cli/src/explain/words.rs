//! What happened, in words: rules and endings as sentences.
//!
//! What it does not do: say what to do about it ([`advice`](super::advice)), or lay it out.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use pathwalk::permission::{AclEntry, AclTag, Class};
use pathwalk::{Access, Capabilities, FileType};

use super::bytes::{shortened, shown};
use super::mounts::Mount;
use super::rule::{Node, Rule};
use super::told::{Doubt, Failure};
use super::who::{Names, Who};

/// Longest name or path that is told whole.
pub(crate) const LONGEST: usize = 300;

/// Who is spoken of, and how things are called.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub(crate) who: &'a Who,
    pub(crate) names: &'a Names,
    /// What is walked from, as this process calls it.
    pub(crate) root: &'a Path,
}

/// `r-x`
pub(crate) fn letters(access: Access) -> String {
    let letter = |bit, letter| if access.contains(bit) { letter } else { '-' };
    [letter(Access::READ, 'r'), letter(Access::WRITE, 'w'), letter(Access::EXECUTE, 'x')].iter().collect()
}

/// With an article.
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

/// What an access to this node is called.
pub(crate) fn doing(kind: FileType, want: Access) -> &'static str {
    match want {
        Access::READ if kind == FileType::Directory => "list",
        Access::READ => "read",
        Access::WRITE => "write",
        _ if kind == FileType::Directory => "search",
        _ => "execute",
    }
}

impl Voice<'_> {
    pub(crate) fn user(&self) -> String {
        self.names.user(self.who.uid)
    }

    /// `alice (uid 1000, gid 100, groups 27 44)`
    pub(crate) fn introduced(&self) -> String {
        let Who { uid, gid, groups, .. } = self.who;
        let listed: Vec<String> = groups.iter().map(|gid| self.names.group(*gid)).collect();
        let more = if listed.is_empty() { String::new() } else { format!(", and of {}", listed.join(", ")) };
        format!("{} (uid {uid}), of group {}{more}{}", self.user(), self.names.group(*gid), self.capabilities())
    }

    /// Those that matter, where they are not what the user makes expect.
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

    /// The user, for commands: another root's names mean nothing outside of it.
    pub(crate) fn user_outside(&self) -> String {
        if self.is_at_home() { self.user() } else { self.who.uid.to_string() }
    }

    /// Whether what is walked is what commands work on.
    pub(crate) fn is_at_home(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A path of the walk, for reading.
    pub(crate) fn path(&self, node: &Node) -> String {
        node.path.as_ref().map_or("what was removed".into(), |path| shortened(path, LONGEST))
    }

    /// A path of the walk as this process calls it, for commands.
    pub(crate) fn outer(&self, path: &[u8]) -> Vec<u8> {
        if self.is_at_home() {
            return path.to_vec();
        }
        let below = path.strip_prefix(b"/").unwrap_or(path);
        let joined: PathBuf = self.root.join(std::ffi::OsStr::from_bytes(below));
        joined.into_os_string().into_vec()
    }

    /// Why `rule` grants or refuses `want`.
    pub(crate) fn rule(&self, node: &Node, rule: Rule, want: Access) -> String {
        match rule {
            Rule::Bits(Class::Owner, grants) => format!("its owner {} has {}", self.user(), letters(grants)),
            Rule::Bits(Class::Group, grants) => {
                format!("its group {} has {}", self.names.group(node.attributes.gid), letters(grants))
            }
            Rule::Bits(Class::Other, grants) => format!("others have {}", letters(grants)),
            Rule::Entry(entry, mask) => self.entry(entry, mask, want),
            Rule::NoEntry => format!("its access control list has no entry for {}", self.user()),
            Rule::Capability(name) => format!("{name} overrides the mode"),
            Rule::NoExecuteBit => "it has no x bit at all, and no capability executes what nobody may execute".into(),
            Rule::NoExec => format!("{} is mounted noexec", point(node)),
            Rule::ReadOnlyMount => format!("{} is mounted read-only", point(node)),
            Rule::ReadOnlyFileSystem => format!("the file system on {} is read-only", point(node)),
            Rule::Immutable => "it is immutable (chattr +i)".into(),
            Rule::NotVisible => "this process may not read its access control list".into(),
            _ => "its file system or a security module says so".into(),
        }
    }

    fn entry(&self, entry: AclEntry, mask: Access, want: Access) -> String {
        let (name, is_masked) = match entry.tag {
            AclTag::User(uid) => (format!("user:{}", self.names.user(uid)), true),
            AclTag::Group => ("group:".into(), true),
            AclTag::NamedGroup(gid) => (format!("group:{}", self.names.group(gid)), true),
            AclTag::Owner => ("user:".into(), false),
            AclTag::Mask | AclTag::Other => ("other:".into(), false),
        };
        let cut = is_masked && entry.grants.contains(want) && !mask.contains(want);
        let cut = if cut {
            format!(", of which the mask {} leaves {}", letters(mask), letters(entry.grants & mask))
        } else {
            String::new()
        };
        format!("its ACL's entry {name}:{} decides{cut}", letters(entry.grants))
    }

    /// Why the walk ends.
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
            "fs.protected_symlinks: {dir} is sticky and everybody may write to it, and the link {at} there belongs to {}, \
             {others}, whose directory it is",
            owner(&failure.node),
        )
    }

    /// Why the kernel may answer otherwise.
    pub(crate) fn doubt(&self, doubt: &Doubt) -> String {
        match doubt {
            Doubt::MagicLink(path) => {
                format!(
                    "the kernel jumps through {} to what is open there, whatever its text says; here its text was followed",
                    shown(path)
                )
            }
            Doubt::OwnRules(kind, point) => {
                format!("{} at {} may refuse by rules of its own, which neither mode nor list shows", shown(kind), shown(point))
            }
        }
    }
}

/// Where the node's mount is.
pub(crate) fn point(node: &Node) -> String {
    let line = node.mount.as_ref().and_then(|mount| mount.line.as_ref());
    line.map_or("its mount".into(), |line| shown(&line.point))
}

fn at_point(node: &Node) -> String {
    let line = node.mount.as_ref().and_then(|mount| mount.line.as_ref());
    line.map_or(String::new(), |line| format!(" at {}", shown(&line.point)))
}

/// `tmpfs pathwalk, ro noexec`
pub(crate) fn mount(mount: &Mount) -> String {
    let what = mount.line.as_ref().map(|line| format!("{} {}", shown(&line.kind), shown(&line.source)));
    let switches = mount.switches();
    let switches = if switches.is_empty() { String::new() } else { format!(", {}", switches.join(" ")) };
    what.unwrap_or_else(|| "another mount".into()) + &switches
}
