//! What is compared: a directory of ext4, and mounted trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::Result;

/// A directory that is measured.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) at: PathBuf,
    /// The program that serves it, with that of its statistics.
    server: Option<(Child, Option<PathBuf>)>,
}

impl Subject {
    /// Mounts all subjects whose programs are there, below a directory of ext4.
    pub(crate) fn start_all(base: &Path) -> Result<Vec<Subject>> {
        let own = std::env::current_exe()?;
        let pathwalk = own.ancestors().nth(2).ok_or("this program is in target/release/examples")?.join("pathwalk");
        let made = |name: &str| -> Result<PathBuf> {
            let at = base.join(name);
            std::fs::create_dir(&at)?;
            Ok(at)
        };
        let mut subjects = vec![Subject { name: "ext4", at: made("ext4")?, server: None }];
        let host = made("of-host")?;
        let source = format!("host:{}", host.display());
        let size = "size=8G";
        for (name, arguments) in [("mem", vec!["mem", "-o", size]), ("host", vec![&*source, "-o", "coherence=exclusive"])] {
            let at = made(name)?;
            let mut command = Command::new(&pathwalk);
            command.args(["mount", "--foreground", arguments[0]]).arg(&at).args(&arguments[1..]);
            if let Ok(more) = std::env::var("MOUNT_OPTIONS") {
                command.args(["-o", &more]);
            }
            subjects.extend(Subject::start(name, at, &mut command, Some(pathwalk.clone()))?);
        }
        let mut bindfs = Command::new("bindfs");
        bindfs.args(["-f", "--multithreaded", "-o"]).arg("attr_timeout=86400,entry_timeout=86400,negative_timeout=86400");
        let at = made("bindfs")?;
        subjects.extend(Subject::start("bindfs", at.clone(), bindfs.arg(made("of-bindfs")?).arg(&at), None)?);
        let [lower, upper, work] = ["lower", "upper", "work"].map(&made);
        let layers = format!("lowerdir={},upperdir={},workdir={}", lower?.display(), upper?.display(), work?.display());
        let at = made("fuse-overlayfs")?;
        let mut overlay = Command::new("fuse-overlayfs");
        subjects.extend(Subject::start("fuse-overlayfs", at.clone(), overlay.args(["-f", "-o", &layers]).arg(&at), None)?);
        Ok(subjects)
    }

    /// Mounts one, and waits until it is there. `None` if its program is not installed.
    fn start(name: &'static str, at: PathBuf, command: &mut Command, counts: Option<PathBuf>) -> Result<Option<Subject>> {
        let server = match command.stdout(Stdio::null()).spawn() {
            Ok(server) => server,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("{name} is left out: its program is not installed");
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut subject = Subject { name, at, server: Some((server, counts)) };
        for _ in 0..200 {
            if Command::new("mountpoint").arg("-q").arg(&subject.at).status()?.success() {
                return Ok(Some(subject));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        subject.stop()?;
        Err(format!("{name} is not mounted after 10 seconds").into())
    }

    /// Unmounts it, and waits for its program.
    pub(crate) fn stop(&mut self) -> Result<()> {
        if let Some((mut server, _)) = self.server.take() {
            Command::new("umount").arg("-l").arg(&self.at).status()?;
            server.wait()?;
        }
        Ok(())
    }

    /// Returns whether its program counts requests.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(&self.server, Some((_, Some(_))))
    }

    /// Returns the requests so far, by kind.
    pub(crate) fn requests(&self) -> Result<BTreeMap<String, u64>> {
        let Some((_, Some(program))) = &self.server else { return Ok(BTreeMap::new()) };
        let output = Command::new(program).args(["stats", "--json"]).arg(&self.at).output()?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let operations = report["operations"].as_array().ok_or("the statistics lack operations")?;
        let count = |of: &Value| Some((of["kind"].as_str()?.to_owned(), of["count"].as_u64()?));
        Ok(operations.iter().filter_map(count).collect())
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // What it fails with is told by `stop`.
        let _ = self.stop();
    }
}
