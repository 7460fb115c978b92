//! What is compared: ways to run a command in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::material::{Material, run};
use crate::works::Work;
use crate::{INSIDE, Result};

/// A way to run a command in a directory.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    way: Way,
    /// A directory of its own: `plain` is what the command gets, or a lower layer of that.
    dir: PathBuf,
    /// The share of all sizes.
    share: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Overlayfs,
    FuseOverlayfs,
    /// `pathwalk try` with this engine.
    Try(&'static str),
}

/// What was measured of one command.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// The time from the start of all to the first instruction of the command.
    pub(crate) start: Duration,
    /// The time that the command has measured.
    pub(crate) command: Duration,
    /// The time of all, but for mounts before and behind the command.
    pub(crate) all: Duration,
}

impl Subject {
    /// Returns all subjects whose programs are there, each with a directory below this one.
    pub(crate) fn all(base: &Path, share: usize) -> Result<Vec<Subject>> {
        let ways = [
            ("ext4", Way::Plain),
            ("overlayfs", Way::Overlayfs),
            ("fuse-overlayfs", Way::FuseOverlayfs),
            ("try, fuse", Way::Try("fuse")),
            ("try, overlay", Way::Try("overlay")),
        ];
        let mut all = Vec::new();
        for (name, way) in ways {
            if way == Way::FuseOverlayfs && Command::new("fuse-overlayfs").arg("--version").output().is_err() {
                continue;
            }
            let dir = base.join(name.replace(", ", "-"));
            fs::create_dir_all(dir.join("plain"))?;
            all.push(Subject { name, way, dir, share });
        }
        Ok(all)
    }

    pub(crate) fn plain(&self) -> PathBuf {
        self.dir.join("plain")
    }

    pub(crate) fn is_try(&self) -> bool {
        matches!(self.way, Way::Try(_))
    }

    /// Does one work, and measures it.
    pub(crate) fn measure(&self, work: &Work, material: &Material) -> Result<Times> {
        (work.reset)(&self.plain(), material)?;
        run(Command::new("sync").arg("-f").arg(&self.dir))?;
        let begun = Instant::now();
        let since = now();
        let mounted = self.mount()?;
        let to_start = Instant::now();
        let output = self.command(work, material)?.stderr(Stdio::inherit()).output()?;
        let all = to_start.elapsed();
        let mounting = to_start - begun;
        if let Some(mounted) = mounted {
            mounted.end()?;
        }
        if !output.status.success() {
            return Err(format!("{} of {}: {}", work.name, self.name, output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        // The program under `try` is the only one that writes there.
        let told: Vec<u64> = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        let [started, took] = told[..] else { return Err(format!("{} tells {text:?}", work.name).into()) };
        let start = Duration::from_nanos(started).saturating_sub(since);
        debug_assert!(start >= mounting);
        Ok(Times { start, command: Duration::from_nanos(took), all })
    }

    fn command(&self, work: &Work, material: &Material) -> Result<Command> {
        let own = std::env::current_exe()?;
        let inside = |command: &mut Command| {
            command.arg(INSIDE).arg(work.name).arg(&material.directory).arg(self.share.to_string());
        };
        let mut command = match self.way {
            Way::Try(engine) => {
                let program = own.ancestors().nth(2).ok_or("this program is in target/release/examples")?.join("pathwalk");
                let mut command = Command::new(program);
                command.arg("try").arg("--store").arg(self.dir.join("store")).args(["--engine", engine, "--commit-if-ok", "--"]);
                command.arg(&own).stdin(Stdio::null());
                command
            }
            _ => Command::new(&own),
        };
        inside(&mut command);
        command.current_dir(if matches!(self.way, Way::Plain | Way::Try(_)) { self.plain() } else { self.dir.join("merged") });
        Ok(command)
    }

    /// Mounts what the command needs; a `try` mounts by itself.
    fn mount(&self) -> Result<Option<Mounted>> {
        if matches!(self.way, Way::Plain | Way::Try(_)) {
            return Ok(None);
        }
        let dirs = ["upper", "work", "merged"].map(|name| self.dir.join(name));
        dirs.iter().try_for_each(fs::create_dir)?;
        let [upper, work, merged] = &dirs;
        let layers = format!("lowerdir={},upperdir={},workdir={}", self.plain().display(), upper.display(), work.display());
        let mut server = None;
        if self.way == Way::Overlayfs {
            run(Command::new("mount").args(["-t", "overlay", "overlay", "-o", &layers]).arg(merged))?;
        } else {
            server = Some(Command::new("fuse-overlayfs").args(["-f", "-o", &layers]).arg(merged).stdout(Stdio::null()).spawn()?);
            let is_mounted = || Command::new("mountpoint").arg("-q").arg(merged).status().is_ok_and(|status| status.success());
            for _ in 0..2000 {
                if is_mounted() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(Some(Mounted { server, dirs }))
    }
}

/// A mounted layer, in three directories.
struct Mounted {
    server: Option<Child>,
    dirs: [PathBuf; 3],
}

impl Mounted {
    fn end(self) -> Result<()> {
        run(Command::new("umount").arg("-l").arg(&self.dirs[2]))?;
        if let Some(mut server) = self.server {
            server.wait()?;
        }
        self.dirs.iter().try_for_each(fs::remove_dir_all)?;
        Ok(())
    }
}

/// Does a work as the command, in the working directory, and tells when it was started and how long
/// it took, in nanoseconds.
pub(crate) fn inside(work: &Work, material: &Material) -> Result<()> {
    let (started, here) = (now(), std::env::current_dir()?);
    (work.warm)(&here, material)?;
    let begun = Instant::now();
    (work.run)(&here, material)?;
    println!("{} {}", started.as_nanos(), begun.elapsed().as_nanos());
    Ok(())
}

/// Returns the time of the clock that all processes share.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
