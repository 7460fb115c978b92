//! The command `pathwalk watch`: prints what changes below a directory, and what the caches of a
//! `Vfs` ask for again because of that, as it happens.
//!
//! The tree is walked once, so that all of it is cached and watched. What appears later is walked
//! when its event comes. What changes in a directory that appeared a moment ago, before it was
//! walked, makes no event of its own.
//!
//! What it does not do: show the state of the tree. Events merge and come late.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use pathwalk::{Context, Credentials, FileType, Vfs};
use pathwalk_bench::machine::{BUDGET, escaped};
use pathwalk_hostfs::{Change, Coherence, Drops, HostFs, WatchBy, WatchEvent};
use serde_json::{Map, Value, json};

use crate::explain::bytes::shown;
use crate::explain::json::put;
use crate::output;

/// The text below the options of `pathwalk watch`.
pub(crate) const WATCH_EXAMPLES: &str = "\
Examples:
  pathwalk watch /srv/www
      until it is interrupted (Ctrl-C)
  pathwalk watch . --json | jq -c 'select(.event == \"changed\") | .path'
      the paths alone, one line each
  pathwalk watch . --events 1 && make
      waits for one change

What the lines say:
  what changed           created, removed, moved from, moved to, attributes,
                         data, closed (after it was open for writing), gone
                         (its last name), moved (itself)
  where                  the path below the directory
  what is dropped        name: what the name leads to, with the attributes of
                         its node and directory; attributes: those of the node
  overflow               the kernel's queue was full: everything is dropped
  mounts                 something was mounted or unmounted below
  not watched            a directory that is checked at each use, and the reason
  watched                one that is watched after all

With CAP_SYS_ADMIN, whole file systems are watched by fanotify; else, and where
that is impossible, each directory by inotify.";

/// The time after which an interruption is noticed, at the latest.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(ClapArgs, Debug)]
pub(crate) struct WatchArgs {
    /// Directory that is watched
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Watch by inotify alone
    #[arg(long)]
    inotify: bool,
    /// End after this many events
    #[arg(long, value_name = "N")]
    events: Option<u64>,
    /// Print one JSON object a line instead of text
    #[arg(long)]
    json: bool,
}

/// The tree, the events that come, and their number.
struct Watched {
    fs: Arc<HostFs>,
    context: Context,
    events: Receiver<WatchEvent>,
    printed: u64,
    json: bool,
}

/// Watches a directory until the program is interrupted.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("waiting for an interruption")?;
    }
    let (sender, events) = channel();
    let by = if args.inotify { WatchBy::Inotify } else { WatchBy::Any };
    // The receiver may be gone when the program ends.
    let fs = HostFs::open(&args.dir)?.with_coherence(Coherence::Watch).with_watch_by(by);
    let fs = Arc::new(fs.on_watch_event(move |event| _ = sender.send(event.clone())));
    let vfs = Vfs::builder().budget(BUDGET).build(Arc::clone(&fs));
    let vfs = vfs.with_context(|| format!("building a Vfs of {BUDGET} bytes over \"{}\"", escaped(&args.dir)))?;
    let mut watched = Watched { fs, context: vfs.context(Credentials::root()), events, printed: 0, json: args.json };
    let nodes = watched.walk(b"");
    watched.say(&watched.begin(&args.dir, nodes))?;
    let is_done = |watched: &Watched| stop.load(Ordering::SeqCst) || args.events.is_some_and(|most| watched.printed >= most);
    while !is_done(&watched) {
        match watched.events.recv_timeout(PATIENCE) {
            Ok(event) => watched.take(&event)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the thread that watches has ended; start the command again"),
        }
    }
    watched.say(&watched.end())?;
    Ok(ExitCode::SUCCESS)
}

impl Watched {
    /// Asks for all below a path, so that it is cached and watched. Returns the number of nodes.
    fn walk(&self, path: &[u8]) -> u64 {
        let mut nodes = 0;
        let mut left = vec![[b"/", path].concat()];
        while let Some(path) = left.pop() {
            let Ok(of) = self.context.lstat(&path) else { continue };
            nodes += 1;
            if of.kind != FileType::Directory {
                continue;
            }
            let Ok(entries) = self.context.read_dir(&path) else { continue };
            let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
            left.extend(entries.flatten().map(|entry| [&*path, slash, entry.name()].concat()));
        }
        nodes
    }

    /// Prints an event, and asks for what it dropped, so that the next change of it is seen.
    fn take(&mut self, event: &WatchEvent) -> anyhow::Result<()> {
        self.printed += 1;
        self.say(&line(event))?;
        match event {
            WatchEvent::Changed { path: Some(path), .. } => _ = self.walk(path),
            WatchEvent::Changed { path: None, .. } | WatchEvent::Uncovered { .. } => {}
            _ => _ = self.walk(b""),
        }
        Ok(())
    }

    fn say(&self, value: &Value) -> anyhow::Result<()> {
        if self.json {
            return output::print_unbroken(&format!("{value}\n"));
        }
        output::print_unbroken(&format!("{}\n", text(value)))
    }

    fn begin(&self, dir: &Path, nodes: u64) -> Value {
        let stats = self.fs.watch_stats();
        let mut value = object("watching");
        put(&mut value, "dir", dir.as_os_str().as_bytes());
        value.insert("nodes".into(), nodes.into());
        value.insert("whole_mounts".into(), stats.whole_mounts.into());
        value.insert("watches".into(), stats.watches.into());
        value.insert("not_watched".into(), (stats.uncovered + stats.uncovered_mounts).into());
        value.insert("why".into(), stats.why_uncovered.map(|why| why.to_string()).into());
        Value::Object(value)
    }

    fn end(&self) -> Value {
        let stats = self.fs.watch_stats();
        let mut value = object("end");
        let numbers = [
            ("events", self.printed),
            ("kernel_events", stats.events),
            ("reports", stats.reports),
            ("overflows", stats.overflows),
            ("mount_changes", stats.mount_changes),
            ("watches", stats.watches),
            ("not_watched", stats.uncovered + stats.uncovered_mounts),
        ];
        value.extend(numbers.map(|(name, number)| (name.to_owned(), number.into())));
        Value::Object(value)
    }
}

fn object(event: &str) -> Map<String, Value> {
    Map::from_iter([("event".to_owned(), json!(event))])
}

/// Returns an event as JSON.
fn line(event: &WatchEvent) -> Value {
    let with_path = |kind: &str, path: &Option<Box<[u8]>>| {
        let mut value = object(kind);
        match path {
            Some(path) => put(&mut value, "path", if path.is_empty() { b"." } else { path }),
            None => _ = value.insert("path".into(), Value::Null),
        }
        value
    };
    let value = match event {
        WatchEvent::Changed { path, changes, drops } => {
            let mut value = with_path("changed", path);
            value.insert("changes".into(), changes.iter().map(|change| word(*change)).collect());
            let drops = match drops {
                Drops::Name => "name",
                Drops::Attributes => "attributes",
                _ => "names",
            };
            value.insert("drops".into(), drops.into());
            value
        }
        WatchEvent::Uncovered { path, why } => {
            let mut value = with_path("not watched", path);
            value.insert("why".into(), why.to_string().into());
            value
        }
        WatchEvent::Covered { path } => with_path("watched", path),
        WatchEvent::Overflow => object("overflow"),
        WatchEvent::Mounts => object("mounts"),
        WatchEvent::RootGone => object("root gone"),
        _ => object("other"),
    };
    Value::Object(value)
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Removed => "removed",
        Change::MovedFrom => "moved from",
        Change::MovedTo => "moved to",
        Change::Attributes => "attributes",
        Change::Data => "data",
        Change::Closed => "closed",
        Change::Gone => "gone",
        Change::Moved => "moved",
        _ => "other",
    }
}

/// Returns a line of JSON as text.
fn text(value: &Value) -> String {
    let of = |key: &str| match &value[key] {
        Value::String(text) if value.get(format!("{key}_bytes")).is_none() => shown(text.as_bytes()),
        Value::String(text) => text.clone(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    match value["event"].as_str().unwrap_or_default() {
        "watching" => {
            let means = match (of("whole_mounts").as_str(), of("watches")) {
                ("0", watches) => format!("{watches} inotify watches"),
                (mounts, watches) if watches == "0" => format!("{mounts} file systems as a whole, by fanotify"),
                (mounts, watches) => format!("{mounts} file systems as a whole, by fanotify, and {watches} inotify watches"),
            };
            let lacks = if of("not_watched") == "0" {
                String::new()
            } else {
                format!("; not watched: {} ({})", of("not_watched"), of("why"))
            };
            format!("watching {} nodes below \"{}\": {means}{lacks}", of("nodes"), of("dir"))
        }
        "end" => format!(
            "{} events printed; the kernel reported {}, the caches were told {} times; overflows {}, changes of mounts {}",
            of("events"),
            of("kernel_events"),
            of("reports"),
            of("overflows"),
            of("mount_changes")
        ),
        "changed" => {
            let changes: Vec<&str> = value["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            format!("{:<24} {}  drops {}", changes.join(", "), of("path"), of("drops"))
        }
        "not watched" => format!("{:<24} {}  {}", "not watched", of("path"), of("why")),
        "watched" => format!("{:<24} {}", "watched", of("path")),
        "overflow" => format!("{:<24} everything is dropped", "overflow"),
        other => format!("{other:<24} everything is dropped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_two_forms() {
        let event = |path: Option<&[u8]>| {
            let changes = [Change::MovedTo, Change::Data].into();
            line(&WatchEvent::Changed { path: path.map(Into::into), changes, drops: Drops::Name })
        };
        let value = json!({ "event": "changed", "path": "d/f", "changes": ["moved to", "data"], "drops": "name" });
        assert_eq!(event(Some(b"d/f")), value);
        assert_eq!(text(&value), "moved to, data           d/f  drops name");
        assert_eq!(text(&event(Some(b"a\xff\n"))), "moved to, data           a\\xff\\n  drops name");
        assert_eq!(text(&event(Some(b"a\n"))), "moved to, data           a\\n  drops name");
        assert_eq!(text(&event(None)), "moved to, data           ?  drops name");
        assert_eq!(text(&event(Some(b""))), "moved to, data           .  drops name");
        assert_eq!(text(&line(&WatchEvent::Overflow)), "overflow                 everything is dropped");
    }
}
