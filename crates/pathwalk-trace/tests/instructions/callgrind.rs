//! Runs this program in callgrind and reads the resulting profile.
//!
//! The profile is a text with a block for each function, `fn=NAME`. A block has lines of cost
//! (`LINE COST`). For each function called, it has `cfn=NAME`, a line `calls=COUNT …`, and a line
//! with the cost of all those calls. That cost is the callee's and is not counted again. Names are
//! written in full and positions are absolute, so that the parser needs no state between lines.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, Stdio};

/// The cost of a run, by function.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    cost: BTreeMap<String, u64>,
    calls: BTreeMap<(String, String), u64>,
}

/// The calls of one function by another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) count: u64,
}

impl Profile {
    /// Returns the number of all instructions.
    pub(crate) fn instructions(&self) -> u64 {
        self.cost.values().sum()
    }

    /// Returns the number of instructions in each function itself.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, u64)> {
        self.cost.iter().map(|(name, cost)| (name.as_str(), *cost))
    }

    /// Returns how many more calls there were than in a shorter run, by caller and callee. The
    /// calls of the preparation, which both runs make, cancel out.
    pub(crate) fn calls_beyond(&self, shorter: &Profile) -> impl Iterator<Item = Call<'_>> {
        self.calls.iter().filter_map(|(call, count)| {
            let count = count - shorter.calls.get(call).copied().unwrap_or(0).min(*count);
            (count > 0 && self.cost.contains_key(&call.0)).then_some(Call { from: &call.0, to: &call.1, count })
        })
    }

    fn parse(text: &str) -> Result<Profile, Box<dyn Error>> {
        let mut profile = Profile::default();
        let (mut function, mut callee) = ("", "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
            let malformed = || format!("callgrind wrote a line that is not understood: \"{}\"", line.escape_debug());
            if let Some(name) = line.strip_prefix("fn=") {
                function = name;
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = name;
            } else if let Some(call) = line.strip_prefix("calls=") {
                let count = number(call.split(' ').next()).ok_or_else(malformed)?;
                *profile.calls.entry((function.to_owned(), callee.to_owned())).or_default() += count;
                // The next line has the cost of the calls.
                lines.next();
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                // A line without a cost stands for zero.
                let cost = line.split(' ').nth(1).map_or(Some(0), |cost| number(Some(cost))).ok_or_else(malformed)?;
                *profile.cost.entry(function.to_owned()).or_default() += cost;
            }
        }
        profile.cost.retain(|_, cost| *cost > 0);
        if profile.cost.is_empty() {
            return Err("callgrind collected nothing: the function to be measured was not found by its name".into());
        }
        Ok(profile)
    }
}

/// Returns whether valgrind is installed.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns the cost of this program with these arguments, within calls of the function that has
/// `collected` in its name.
pub(crate) fn profile(arguments: &[&str], collected: &str) -> Result<Profile, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--toggle-collect=*{collected}*"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("running valgrind: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind ended with {}; it said:\n{said}", output.status).into());
    }
    let text = std::fs::read(&file).map_err(|error| format!("reading what callgrind wrote: {error}"))?;
    Profile::parse(&String::from_utf8_lossy(&text))
}
