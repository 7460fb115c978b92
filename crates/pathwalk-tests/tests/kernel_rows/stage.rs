//! A scene that is laid out on a system, with labels for its nodes and mounts; and a row's answer
//! in these labels.
//!
//! Systems number inodes and mounts in different ways, so an answer uses labels. A node has the
//! label of the step that made it, or the path that this step was given. The root of a file system
//! has the label of its mount, with a slash appended. A mount has the label of its step. Further
//! mounts of the same step are `LABEL.1` and so on, in the order of `mountinfo`. Nodes and mounts
//! that no step made are `new`.
//!
//! A read-only mount has the mark `[ro]`, and one of a read-only file system `[fs-ro]`.
//!
//! What always holds: a system provides nothing but numbers. The same code assigns the labels for
//! all systems.

use std::collections::HashMap;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use pathwalk::{Errno, OpenFlags, Resolve, UmountFlags};

use crate::op::{Kind, Op, Spot};
use crate::rows::{From, Row, Scene, Step};

/// The identity of a node as a system reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The device and the inode number.
    pub(crate) node: (u64, u64),
    pub(crate) mount: u64,
    /// The bit `STATX_ATTR_MOUNT_ROOT`.
    pub(crate) is_root: bool,
}

/// The result of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Done,
    Place(Seen),
    Body(Vec<u8>),
}

/// An operation with its starting point and rules.
pub(crate) struct Ask<'a> {
    pub(crate) from: &'a From,
    pub(crate) rules: Resolve,
    pub(crate) op: &'a Op,
}

/// A system that carries operations out for one caller: as root, with the root of an empty file
/// system as its root.
pub(crate) trait System {
    fn run(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno>;

    /// Returns the path of the file that was opened last, from the caller's root; none if it has no
    /// name.
    fn path_opened(&self) -> Option<String>;

    /// Makes `from` the working directory, if it names one.
    fn stand(&mut self, from: &From) -> Result<(), Errno>;

    /// Returns the number and the mount point of each mount below the caller's root.
    fn mounts(&mut self) -> Vec<(u64, String)>;

    /// Returns for each of these mounts whether it is read-only, and whether its file system is.
    fn read_only(&mut self) -> HashMap<u64, (bool, bool)>;
}

/// The labels of nodes and mounts.
#[derive(Default)]
pub(crate) struct Stage {
    nodes: HashMap<(u64, u64), String>,
    mounts: HashMap<u64, String>,
}

fn plain(op: &Op) -> Ask<'_> {
    Ask { from: &From::Here, rules: Resolve::empty(), op }
}

fn place(system: &mut dyn System, ask: &Ask<'_>) -> Result<Seen, Errno> {
    match system.run(ask)? {
        Outcome::Place(seen) => Ok(seen),
        _ => unreachable!("a place was asked for"),
    }
}

impl Stage {
    /// Lays a scene out.
    pub(crate) fn lay_out(system: &mut dyn System, scene: &Scene) -> Result<Stage> {
        let mut stage = Stage::default();
        let root = Op::Lstat(Spot::Path("/".into()));
        let seen = place(system, &plain(&root)).map_err(|errno| anyhow!("no root: {errno:?}"))?;
        stage.nodes.insert(seen.node, "/".into());
        stage.mounts.insert(seen.mount, "root".into());
        for step in &scene.steps {
            let failed = |errno: Errno| anyhow!("rows.txt:{}: a step of scene {} is {errno:?}", step.line, scene.name);
            stage.step(system, step).with_context(|| format!("rows.txt:{}: step", step.line))?.map_err(failed)?;
        }
        Ok(stage)
    }

    /// Carries a step out. The inner error is the system's.
    fn step(&mut self, system: &mut dyn System, step: &Step) -> Result<Result<(), Errno>> {
        let before = system.mounts();
        let outcome = match system.run(&plain(&step.op)) {
            Ok(outcome) => outcome,
            // The first attempt to expire a mount marks it.
            Err(Errno::EAGAIN) if matches!(step.op, Op::Umount(flags, _) if flags.contains(UmountFlags::EXPIRE)) => Outcome::Done,
            Err(errno) => return Ok(Err(errno)),
        };
        let label = step.label.as_deref();
        match &step.op {
            Op::Unshare => self.rename_mounts(&before, &system.mounts()),
            Op::Mkdir(at) | Op::File(at) | Op::Device(at) | Op::Pipe(at) | Op::Symlink(at, _) => {
                let Spot::Path(path) = at else { bail!("a step makes names by paths") };
                let seen = place(system, &plain(&Op::Lstat(at.clone()))).expect("it was just made");
                self.name_node(seen, label.unwrap_or(path))?;
            }
            Op::Mount(_, at) => {
                self.name_mounts(system, label.context("a mount needs a label")?, &before, &step.op);
                if let Ok(seen) = place(system, &plain(&Op::Lstat(at.clone()))) {
                    self.name_root(seen, label.unwrap_or_default());
                }
            }
            op => self.name_mounts(system, label.unwrap_or("new"), &before, op),
        }
        if let (Outcome::Place(seen), Some(label)) = (outcome, label) {
            self.mounts.entry(seen.mount).or_insert_with(|| label.to_owned());
            self.name_root(seen, label);
        }
        Ok(Ok(()))
    }

    fn name_node(&mut self, seen: Seen, label: &str) -> Result<()> {
        ensure!(self.nodes.values().all(|other| other != label), "two nodes are called {label}: `LABEL = ...` tells them apart");
        self.nodes.insert(seen.node, label.to_owned());
        Ok(())
    }

    fn name_root(&mut self, seen: Seen, label: &str) {
        self.nodes.entry(seen.node).or_insert_with(|| format!("{label}/"));
    }

    /// Gives labels to the mounts that an operation made. The kernel may reuse a number.
    fn name_mounts(&mut self, system: &mut dyn System, label: &str, before: &[(u64, String)], op: &Op) {
        let mut count = 0;
        for (id, _) in system.mounts() {
            let was_there = before.iter().any(|(other, _)| *other == id);
            let was_elsewhere = matches!(op, Op::Move(..)) && self.mounts.contains_key(&id);
            if !was_there && !was_elsewhere {
                let name = if count == 0 { label.to_owned() } else { format!("{label}.{count}") };
                self.mounts.insert(id, name);
                count += 1;
            }
        }
    }

    /// Gives copies of mounts the labels of their originals, with a mark.
    fn rename_mounts(&mut self, originals: &[(u64, String)], copies: &[(u64, String)]) {
        for ((original, _), (copy, _)) in originals.iter().zip(copies) {
            let name = format!("{}'", self.mounts[original]);
            self.mounts.insert(*copy, name);
        }
    }

    /// Runs a row and returns its answer. Fails for a row that cannot be run.
    pub(crate) fn ask(&mut self, system: &mut dyn System, row: &Row) -> Result<String> {
        let ask = standing(system, row)?;
        let before = system.mounts();
        Ok(match system.run(&ask) {
            Err(errno) => errno.name().map_or_else(|| format!("errno {}", errno.raw()), str::to_owned),
            Ok(outcome) => self.told(system, &ask, outcome, &before).with_context(|| row.place())?,
        })
    }

    fn told(&mut self, system: &mut dyn System, ask: &Ask<'_>, outcome: Outcome, before: &[(u64, String)]) -> Result<String> {
        Ok(match (ask.op.kind(), outcome) {
            (_, Outcome::Place(seen)) if matches!(ask.op, Op::Open(..)) && !self.nodes.contains_key(&seen.node) => {
                let path = system.path_opened().unwrap_or_else(|| "nowhere".into());
                format!("{} at {path}", self.place(seen))
            }
            (_, Outcome::Place(seen)) => self.place(seen),
            (_, Outcome::Body(body)) => format!("\"{}\"", body.escape_ascii()),
            (Kind::Names, Outcome::Done) => {
                let spots = ask.op.spots();
                let named = spots.last().and_then(|spot| spot.split());
                let (directory, _) = named.context("a name is made or taken away by its own name")?;
                let op = Op::Open(OpenFlags::PATH | OpenFlags::DIRECTORY, directory);
                let seen = place(system, &Ask { op: &op, ..*ask });
                seen.map_or_else(|errno| format!("done, then {errno:?}"), |seen| format!("done below {}", self.place(seen)))
            }
            (Kind::Mounts, Outcome::Done) => {
                self.name_mounts(system, "new", before, ask.op);
                let read_only = system.read_only();
                let mark = |id: &u64| match read_only[id] {
                    (false, false) => "",
                    (true, false) => "[ro]",
                    (false, true) => "[fs-ro]",
                    (true, true) => "[ro,fs-ro]",
                };
                let line = |(id, point): (u64, String)| format!(" {}={point}{}", self.mounts[&id], mark(&id));
                let listed = system.mounts().into_iter().map(line);
                format!("done:{}", listed.collect::<String>())
            }
            (Kind::Question | Kind::Node | Kind::Caller, Outcome::Done) => "done".into(),
        })
    }

    fn place(&self, seen: Seen) -> String {
        let label = |name: Option<&String>| name.map_or("new", String::as_str).to_owned();
        let (node, mount) = (label(self.nodes.get(&seen.node)), label(self.mounts.get(&seen.mount)));
        format!("{node} in {mount}{}", if seen.is_root { ", root" } else { "" })
    }
}

/// Enters the starting point of a row. Returns the row's operation.
fn standing<'a>(system: &mut dyn System, row: &'a Row) -> Result<Ask<'a>> {
    let stood = system.stand(&row.from);
    stood.map_err(|errno| anyhow!("no working directory: {errno:?}")).with_context(|| row.place())?;
    Ok(Ask { from: &row.from, rules: row.rules, op: &row.op })
}

/// Brings the nodes of a row into the caches, if the row asks the caches.
pub(crate) fn warm(system: &mut dyn System, row: &Row) -> Result<()> {
    if !row.asks_caches() {
        return Ok(());
    }
    let ask = standing(system, row)?;
    let rules = ask.rules - Resolve::CACHED;
    let op = match ask.op {
        Op::Open(flags, at) if ask.op.kind() != Kind::Question => {
            let kept = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::PATH | OpenFlags::NOFOLLOW;
            Op::Open(*flags & kept, at.clone())
        }
        op => op.clone(),
    };
    // The row itself reports whether the node exists.
    let _ = system.run(&Ask { op: &op, rules, from: ask.from });
    Ok(())
}
