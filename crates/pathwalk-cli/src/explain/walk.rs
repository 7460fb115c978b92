//! The conversion of the engine's steps to lines: the properties of each node, and the place and
//! rule of the walk's end.
//!
//! The walk is the engine's. This module adds the list and the mount of each node, and names near a
//! missing one. It also applies what the host's file system leaves to its users: `nosymfollow` of a
//! mount below the root, at whose first link the walk is cut.

use std::collections::HashMap;
use std::ops::ControlFlow;

use pathwalk::permission::Acl;
use pathwalk::{Access, At, AtFlags, Context, Errno, FileType, Handle, MountFlags, StatxFlags, Step, What, Why};

use super::landlock;
use super::mounts::Mount;
use super::near;
use super::rule::{Judged, List, Node, Rule, coming_to, judge};
use super::told::{Doubt, Ending, Failure, Found, Line, May, Told};
use super::who::{Asks, Who};

/// The properties of a node that the engine does not report. Paths are from the root.
pub(crate) trait Host {
    /// Returns the access control list of a node.
    fn acl(&self, path: &[u8]) -> Result<Option<Acl>, Errno>;
    /// Returns the mount of a node, where that is known.
    fn mount(&self, path: &[u8]) -> Option<Mount>;
    /// Returns the names in a directory, where they may be read.
    fn names(&self, dir: &[u8]) -> Option<Vec<Vec<u8>>>;
}

/// The file systems that refuse by rules which neither mode nor list shows.
const OWN_RULES: [&str; 10] = ["fuse", "fuseblk", "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "proc"];

/// Runs a walk and describes it. `want` is the access to its end that is asked for.
pub(crate) fn tell(context: &Context, host: &dyn Host, who: &Who, path: &[u8], flags: AtFlags, want: Option<Access>) -> Told {
    let walk = context.steps_at(At::Cwd, path, flags);
    let mut teller = Teller::new(context, host, who);
    let failed = walk.steps.iter().map(|step| teller.take(step)).find_map(ControlFlow::break_value);
    let mut wanted = None;
    let ending = match (failed, walk.answer) {
        (Some(failure), _) => Ending::Failed(failure),
        (None, Ok(end)) => {
            let node = teller.node(&end);
            wanted = want.map(|want| teller.may(&end, &node, want));
            let may = [Access::READ, Access::WRITE, Access::EXECUTE].map(|want| teller.may(&end, &node, want));
            Ending::Reached(Box::new(node), may)
        }
        (None, Err(errno)) => Ending::Failed(Box::new(Failure { rule: before_any_step(path, errno), ..Failure::of(errno) })),
    };
    let doubts = teller.doubts(&ending);
    Told { lines: teller.lines, ending, wanted, doubts }
}

fn before_any_step(path: &[u8], errno: Errno) -> Rule {
    match errno {
        Errno::ENOENT if path.is_empty() => Rule::EmptyPath,
        Errno::ENAMETOOLONG => Rule::PathTooLong,
        _ => Rule::FileSystem,
    }
}

/// A description of a walk under construction.
struct Teller<'a> {
    context: &'a Context,
    host: &'a dyn Host,
    who: &'a Who,
    lines: Vec<Line>,
    /// The directory in which the next name is looked up, and the directory in which that was
    /// found.
    here: Option<Node>,
    above: Option<Node>,
    /// The links followed so far: depth, path, body.
    links: Vec<(usize, Vec<u8>, Vec<u8>)>,
    /// The nodes whose properties are known, by path.
    known: HashMap<Vec<u8>, Node>,
}

type Flow = ControlFlow<Box<Failure>>;

impl<'a> Teller<'a> {
    fn new(context: &'a Context, host: &'a dyn Host, who: &'a Who) -> Self {
        let (lines, links, known) = Default::default();
        Teller { context, host, who, lines, here: None, above: None, links, known }
    }

    fn take(&mut self, step: &Step) -> Flow {
        let depth = step.depth;
        match &step.what {
            What::Start(start) => {
                let node = self.node(start);
                let name = if node.path.as_deref() == Some(b"/") { "/" } else { "." };
                self.came_to(depth, name.as_bytes(), node);
            }
            What::Dot => {
                if let Some(here) = self.here.clone() {
                    self.came_to(depth, b".", here);
                }
            }
            What::Up(to) => {
                let node = self.node(to);
                self.came_to(depth, b"..", node);
            }
            What::Name { name, node } => {
                let node = self.node(node);
                self.came_to(depth, name, node);
            }
            What::Mount(root) => {
                // The mounted root has the path of the directory that it covers.
                if let Ok(path) = root.path() {
                    self.known.remove(&path);
                }
                let node = self.node(root);
                self.came_to(depth, b"(mounted on it)", node);
            }
            What::Link { body, from } => return self.follows(depth, body, from),
            What::Absent { name, dir } => {
                let dir = self.node(dir);
                self.push(depth, name, Found::Absent, Some((Errno::ENOENT, Rule::Absent)));
                return Flow::Break(Box::new(self.absent(depth, name, dir)));
            }
            What::Refused { errno, why, node, name } => {
                let node = self.node(node);
                return Flow::Break(Box::new(self.refused(depth, *errno, *why, node, name)));
            }
            _ => {}
        }
        Flow::Continue(())
    }

    /// Returns the known properties of a node.
    fn node(&mut self, handle: &Handle) -> Node {
        let path = handle.path().ok();
        if let Some(known) = path.as_ref().and_then(|path| self.known.get(path)) {
            return known.clone();
        }
        // The attributes of a node that was just walked through are cached. Without them, only the
        // type is shown.
        let attributes = handle.attributes().unwrap_or_else(|_| pathwalk::Attributes::new(handle.kind(), 0));
        let acl = match path.as_ref().map(|path| self.host.acl(path)) {
            Some(Ok(Some(acl))) => List::Present(acl),
            Some(Ok(None)) => List::Absent,
            Some(Err(_)) | None => List::Unknown,
        };
        let mount = path.as_ref().and_then(|path| self.host.mount(path));
        let node = Node { path: path.clone(), attributes, acl, mount };
        if let Some(path) = path {
            self.known.insert(path, node.clone());
        }
        node
    }

    fn push(&mut self, depth: usize, name: &[u8], found: Found, refused: Option<(Errno, Rule)>) {
        self.lines.push(Line { depth, name: name.into(), found, body: None, mount: None, refused });
    }

    fn came_to(&mut self, depth: usize, name: &[u8], node: Node) {
        let id = |node: &Node| node.mount.as_ref().map(|mount| mount.id);
        let crossed = self.here.as_ref().is_none_or(|here| id(here) != id(&node));
        let rule = coming_to(&node, &self.who.credentials.effective());
        self.push(depth, name, Found::Node(Box::new(node.clone()), rule), None);
        if crossed && let Some(line) = self.lines.last_mut() {
            line.mount = node.mount.clone();
        }
        self.above = self.here.replace(node);
    }

    fn follows(&mut self, depth: usize, body: &[u8], from: &Handle) -> Flow {
        let link = self.here.clone();
        let flags = link.as_ref().and_then(|link| link.mount.as_ref()).map_or(MountFlags::empty(), |mount| mount.flags);
        if flags.contains(MountFlags::NOSYMFOLLOW)
            && let Some(link) = link
        {
            return Flow::Break(Box::new(self.refused(depth, Errno::ELOOP, Why::NoLinks, link, b"")));
        }
        if let Some(line) = self.lines.last_mut() {
            line.body = Some(body.into());
        }
        let path = link.and_then(|link| link.path).unwrap_or_default();
        self.links.push((depth, path, body.into()));
        let from = self.node(from);
        self.above = None;
        self.here = Some(from);
        Flow::Continue(())
    }

    fn absent(&mut self, depth: usize, name: &[u8], dir: Node) -> Failure {
        let names = dir.path.as_ref().and_then(|dir| self.host.names(dir)).unwrap_or_default();
        // The link is the one whose body contains the name.
        let link = depth.checked_sub(1).and_then(|above| self.links.iter().rfind(|link| link.0 == above));
        Failure {
            rule: if link.is_some() { Rule::Dangling } else { Rule::Absent },
            node: Some(dir),
            name: name.into(),
            link: link.map(|(_, path, body)| (path.clone(), body.clone())),
            near: near::names_like(name, &names),
            ..Failure::of(Errno::ENOENT)
        }
    }

    fn refused(&mut self, depth: usize, errno: Errno, why: Why, node: Node, name: &[u8]) -> Failure {
        let rule = self.rule_of(errno, why, &node, name);
        self.mark(depth, errno, &node, rule, name);
        let mut failure = Failure { rule, name: name.into(), dir: self.above.take(), ..Failure::of(errno) };
        match rule {
            Rule::TooManyLinks => failure.circle = self.circle(depth, &node),
            Rule::ProtectedLink | Rule::NoSymFollow => {
                let path = node.path.clone().unwrap_or_default();
                failure.link = self.body_of(&path).map(|body| (path, body));
            }
            _ => {}
        }
        failure.node = Some(node);
        failure
    }

    fn rule_of(&self, errno: Errno, why: Why, node: &Node, name: &[u8]) -> Rule {
        let for_another = self.who.asks == Asks::ForAnother;
        let unseen = for_another && matches!(errno, Errno::EACCES | Errno::EPERM);
        match why {
            Why::NotADirectory if name.is_empty() => Rule::TrailingSlash,
            Why::NotADirectory => Rule::NotADirectory,
            Why::Search => match judge(node, &self.who.credentials.effective(), Access::EXECUTE) {
                _ if for_another && goes_by_unknown_list(node, self.who) => Rule::NotVisible,
                Judged { answer: Err(ours), rule } if ours == errno => rule,
                _ => Rule::FileSystem,
            },
            Why::Lookup if errno == Errno::ENAMETOOLONG => Rule::NameTooLong,
            Why::Lookup if errno == Errno::ENOENT => Rule::Removed,
            Why::Lookup | Why::Body if unseen => Rule::NotVisible,
            Why::TooManyLinks => Rule::TooManyLinks,
            Why::ProtectedLink => Rule::ProtectedLink,
            Why::NoLinks => Rule::NoSymFollow,
            Why::Body => Rule::LinkBody,
            _ => Rule::FileSystem,
        }
    }

    /// Marks the line at which the walk ends, and adds the name that was looked for after it.
    fn mark(&mut self, depth: usize, errno: Errno, node: &Node, rule: Rule, name: &[u8]) {
        if rule == Rule::NameTooLong {
            return self.push(depth, name, Found::NotLookedFor, Some((errno, rule)));
        }
        let stands = |line: &Line| matches!(&line.found, Found::Node(there, _) if there.path == node.path);
        if !self.lines.last().is_some_and(stands) {
            // A link led back to a node further up, such as the root.
            let path = node.path.clone().unwrap_or_default();
            self.came_to(depth, &path, node.clone());
        }
        if let Some(line) = self.lines.last_mut() {
            line.refused = Some((errno, rule));
        }
        if !name.is_empty() {
            self.push(depth, name, Found::NotLookedFor, None);
        }
    }

    /// Returns the links that lead back to themselves: each occurs in the body of the previous one.
    /// Returns none if there are only too many links.
    fn circle(&self, depth: usize, last: &Node) -> Vec<Vec<u8>> {
        let mut nested = vec![last.path.clone().unwrap_or_default()];
        let mut depth = depth;
        for (above, path, _) in self.links.iter().rev() {
            if above + 1 == depth {
                nested.push(path.clone());
                depth = *above;
            }
        }
        nested.reverse();
        let mut seen = HashMap::new();
        let again = nested.iter().enumerate().find_map(|(i, path)| Some((seen.insert(path, i)?, i)));
        again.map_or(Vec::new(), |(first, last)| nested[first..=last].to_vec())
    }

    /// Returns the body of a link that was not followed. It is read with this process' permissions.
    fn body_of(&self, path: &[u8]) -> Option<Vec<u8>> {
        let context = self.context.clone().with_credentials(pathwalk::Credentials::root());
        Some(context.read_link(path).ok()?.into_os_string().into_encoded_bytes())
    }

    /// Returns the engine's answer, and the rule for it.
    fn may(&self, end: &Handle, node: &Node, want: Access) -> May {
        let answer = self.context.faccessat(end, "", want, AtFlags::EACCESS | AtFlags::EMPTY_PATH);
        let mut judged = judge(node, &self.who.credentials.effective(), want);
        // Only `/proc` shows the difference between a read-only file system and a read-only mount
        // of one.
        if judged.answer != answer && judged.rule != Rule::ReadOnlyFileSystem {
            let unseen = goes_by_unknown_list(node, self.who) && self.who.asks == Asks::ForAnother;
            judged = Judged { answer, rule: if unseen { Rule::NotVisible } else { Rule::FileSystem } };
        }
        if judged.answer.is_ok()
            && let Some(rule) = self.by_landlock(end, node, want)
        {
            judged = Judged { answer: Err(Errno::EACCES), rule };
        }
        May { want, judged }
    }

    /// Returns the ruleset of Landlock that refuses an access which the permissions grant. The
    /// kernel asks in this order, at the open.
    fn by_landlock(&self, end: &Handle, node: &Node, want: Access) -> Option<Rule> {
        landlock::needed(node.attributes.kind, want).iter().find_map(|right| {
            let refusing = self.context.refusing_at(end, "", AtFlags::EMPTY_PATH, right).ok()?;
            refusing.first().map(|number| Rule::Landlock(*number, right))
        })
    }

    fn doubts(&self, ending: &Ending) -> Vec<Doubt> {
        let nodes = || {
            self.lines.iter().filter_map(|line| if let Found::Node(node, _) = &line.found { Some((line, node)) } else { None })
        };
        let magic =
            nodes().filter(|(line, node)| line.body.is_some() && is_magic(node)).filter_map(|(_, node)| node.path.clone());
        let mut doubts: Vec<Doubt> = magic.map(Doubt::MagicLink).collect();
        if self.who.asks == Asks::ForAnother {
            let own = nodes().filter_map(|(line, _)| line.mount.as_ref()).filter(|mount| mount.is_a(&OWN_RULES));
            doubts.extend(own.filter_map(|mount| mount.line.clone()).map(|line| Doubt::OwnRules(line.kind, line.point)));
        }
        if let Ending::Reached(node, may) = ending
            && node.attributes.kind == FileType::Regular
            && node.attributes.flags.contains(StatxFlags::APPEND)
            && may.iter().any(|may| may.want == Access::WRITE && may.judged.answer.is_ok())
        {
            doubts.push(Doubt::AppendOnly);
        }
        // One doubt for each mount or link is enough. A walk that reached no node gets none.
        doubts.dedup();
        if matches!(ending, Ending::Failed(failure) if failure.node.is_none()) { Vec::new() } else { doubts }
    }
}

/// Returns whether the decision depends on a list that could not be read. It does not for the
/// owner, nor without group bits.
fn goes_by_unknown_list(node: &Node, who: &Who) -> bool {
    node.acl == List::Unknown && who.uid != node.attributes.uid && node.attributes.mode & 0o070 != 0
}

/// Returns whether the node is one of the links in `/proc` that lead to an open file of a process,
/// whatever their body says.
fn is_magic(node: &Node) -> bool {
    let of_process =
        |path: &Vec<u8>| path.split(|byte| *byte == b'/').any(|name| !name.is_empty() && name.iter().all(u8::is_ascii_digit));
    let in_proc = node.mount.as_ref().is_some_and(|mount| mount.is_a(&["proc"]));
    in_proc && node.attributes.kind == FileType::Symlink && node.path.as_ref().is_some_and(of_process)
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
