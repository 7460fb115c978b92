//! The options of a mount, as `-o` and `fstab(5)` have them: words with commas between.
//!
//! What always holds: an option that cannot be kept is an error. Of options that contradict each
//! other, the last one counts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use pathwalk::MountFlags;
use pathwalk_fuse::{CacheTimes, ExtendedAttributes, Opens, Reported, Writes};
use pathwalk_hostfs::Coherence;

/// What `coherence=` may be.
const MODES: &str = "frozen, exclusive, watch, ttl or strict";

/// The age that answers of mode `ttl` may reach, where no option says it.
const AGE: Duration = Duration::from_secs(1);

/// The options that `mount(8)` and `fstab(5)` have for themselves.
const OF_OTHERS: &[&str] = &[
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "nousers",
    "owner",
    "noowner",
    "group",
    "nogroup",
    "nofail",
    "_netdev",
    "default_permissions",
    "silent",
    "loud",
    "lazytime",
    "nolazytime",
    "mand",
    "nomand",
    "iversion",
    "noiversion",
];

/// The beginnings of further ones.
const BEGINNINGS_OF_OTHERS: &[&str] = &["x-", "X-", "comment=", "user=", "helper=", "uhelper="];

/// The part of the command to which options are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// The mount that the kernel has.
    Whole,
    /// A mount of a namespace file.
    Part,
}

/// The options, after all were read.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Options {
    /// The text of all that were read.
    pub(crate) given: String,
    pub(crate) read_only: bool,
    pub(crate) dev: bool,
    pub(crate) suid: bool,
    pub(crate) noexec: bool,
    pub(crate) sync: bool,
    /// Whether the program is told of opens, if that is said.
    pub(crate) opens: Option<Opens>,
    pub(crate) writes: Writes,
    pub(crate) extended_attributes: ExtendedAttributes,
    pub(crate) allow_other: bool,
    /// The name of the source that `mount(8)` shows.
    pub(crate) shown: Option<String>,
    /// The flags that concern times of access.
    pub(crate) access: MountFlags,
    /// The bytes of the caches.
    pub(crate) budget: Option<u64>,
    /// The most nodes that the kernel is to hold.
    pub(crate) kernel_nodes: Option<u64>,
    pub(crate) mode: Option<Mode>,
    pub(crate) entry: Option<Duration>,
    pub(crate) absence: Option<Duration>,
    pub(crate) attributes: Option<Duration>,
    pub(crate) memory: Memory,
    pub(crate) branch: Branch,
}

/// The options of a branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Branch {
    /// The directory of which it is a branch.
    pub(crate) base: Option<PathBuf>,
    /// The directory in which it is kept.
    pub(crate) store: Option<PathBuf>,
}

/// The options of a tree in memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Memory {
    /// The most bytes of data.
    pub(crate) size: Option<u64>,
    /// The most nodes.
    pub(crate) nodes: Option<u64>,
    /// The permissions of its root.
    pub(crate) mode: Option<u16>,
    /// The owner of its root.
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
}

/// What is promised about changes of a host directory by others: the modes of [`Coherence`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Frozen,
    Exclusive,
    Watch,
    Ttl,
    Strict,
}

/// What an option does.
#[derive(Clone, Copy)]
enum Effect {
    Flag(fn(&mut Options)),
    Value(fn(&mut Options, &str) -> anyhow::Result<()>),
}

/// An option.
struct Known {
    name: &'static str,
    /// The form of its value, for the list of all.
    value: &'static str,
    of: Of,
    effect: Effect,
}

const fn flag(name: &'static str, of: Of, effect: fn(&mut Options)) -> Known {
    Known { name, value: "", of, effect: Effect::Flag(effect) }
}

const fn value(name: &'static str, value: &'static str, of: Of, effect: fn(&mut Options, &str) -> anyhow::Result<()>) -> Known {
    Known { name, value, of, effect: Effect::Value(effect) }
}

/// All options. Those of [`Of::Part`] are options of the whole as well.
const KNOWN: &[Known] = &[
    flag("ro", Of::Part, |options| options.read_only = true),
    flag("rw", Of::Part, |options| options.read_only = false),
    flag("dev", Of::Whole, |options| options.dev = true),
    flag("nodev", Of::Whole, |options| options.dev = false),
    flag("suid", Of::Whole, |options| options.suid = true),
    flag("nosuid", Of::Whole, |options| options.suid = false),
    flag("exec", Of::Whole, |options| options.noexec = false),
    flag("noexec", Of::Whole, |options| options.noexec = true),
    flag("sync", Of::Whole, |options| options.sync = true),
    flag("async", Of::Whole, |options| options.sync = false),
    flag("open", Of::Whole, |options| options.opens = Some(Opens::Told)),
    flag("noopen", Of::Whole, |options| options.opens = Some(Opens::Untold)),
    flag("writeback", Of::Whole, |options| options.writes = Writes::Back),
    flag("nowriteback", Of::Whole, |options| options.writes = Writes::Through),
    flag("xattr", Of::Whole, |options| options.extended_attributes = ExtendedAttributes::Present),
    flag("noxattr", Of::Whole, |options| options.extended_attributes = ExtendedAttributes::Absent),
    flag("allow_other", Of::Whole, |options| options.allow_other = true),
    value("fsname", "NAME", Of::Whole, |options, text| {
        options.shown = Some(text.to_owned());
        Ok(())
    }),
    flag("atime", Of::Part, |options| options.access -= MountFlags::NOATIME),
    flag("noatime", Of::Part, |options| options.access |= MountFlags::NOATIME),
    flag("diratime", Of::Part, |options| options.access -= MountFlags::NODIRATIME),
    flag("nodiratime", Of::Part, |options| options.access |= MountFlags::NODIRATIME),
    flag("relatime", Of::Part, |options| options.access |= MountFlags::RELATIME),
    flag("norelatime", Of::Part, |options| options.access -= MountFlags::RELATIME),
    flag("strictatime", Of::Part, |options| options.access |= MountFlags::STRICTATIME),
    flag("nostrictatime", Of::Part, |options| options.access -= MountFlags::STRICTATIME),
    value("budget", "BYTES", Of::Whole, |options, text| set(&mut options.budget, bytes(text)?)),
    value("kernel_nodes", "N", Of::Whole, |options, text| set(&mut options.kernel_nodes, bytes(text)?)),
    value("coherence", "MODE", Of::Part, |options, text| set(&mut options.mode, Mode::of(text)?)),
    value("entry_timeout", "SECONDS", Of::Part, |options, text| set(&mut options.entry, seconds(text)?)),
    value("negative_timeout", "SECONDS", Of::Part, |options, text| set(&mut options.absence, seconds(text)?)),
    value("attr_timeout", "SECONDS", Of::Part, |options, text| set(&mut options.attributes, seconds(text)?)),
    value("base", "DIR", Of::Part, |options, text| set(&mut options.branch.base, text.into())),
    value("store", "DIR", Of::Part, |options, text| set(&mut options.branch.store, text.into())),
    value("size", "BYTES", Of::Part, |options, text| set(&mut options.memory.size, bytes(text)?)),
    value("nr_inodes", "N", Of::Part, |options, text| set(&mut options.memory.nodes, bytes(text)?)),
    value("mode", "OCTAL", Of::Part, |options, text| set(&mut options.memory.mode, permissions(text)?)),
    value("uid", "N", Of::Part, |options, text| set(&mut options.memory.uid, id(text)?)),
    value("gid", "N", Of::Part, |options, text| set(&mut options.memory.gid, id(text)?)),
];

fn set<T>(place: &mut Option<T>, value: T) -> anyhow::Result<()> {
    *place = Some(value);
    Ok(())
}

impl Options {
    /// Reads options, in addition to those that were read before.
    pub(crate) fn read(&mut self, text: &str, of: Of) -> anyhow::Result<()> {
        self.given += text;
        self.given.push(',');
        text.split(',').filter(|word| !word.is_empty()).try_for_each(|word| self.read_one(word, of))
    }

    fn read_one(&mut self, word: &str, of: Of) -> anyhow::Result<()> {
        let (name, text) = word.split_once('=').map_or((word, None), |(name, text)| (name, Some(text)));
        let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
            return unknown(word, name, of);
        };
        if known.of == Of::Whole && of == Of::Part {
            bail!("the option \"{name}\" is for the whole mount: give it with -o");
        }
        match (known.effect, text) {
            (Effect::Flag(effect), None) => effect(self),
            (Effect::Value(effect), Some(text)) if !text.is_empty() => {
                effect(self, text).with_context(|| format!("the option \"{}\"", word.escape_debug()))?;
            }
            (Effect::Flag(_), Some(_)) => bail!("the option \"{name}\" has no value: leave \"={}\" out", text_of(text)),
            (Effect::Value(_), _) => bail!("the option \"{name}\" lacks its value: write {name}={}", known.value),
        }
        Ok(())
    }

    /// Returns how long the kernel keeps answers about a tree.
    ///
    /// In mode `ttl`, it has one half of the time, and the caches here have the other.
    pub(crate) fn times(&self) -> CacheTimes {
        let usual = match self.mode {
            None | Some(Mode::Frozen | Mode::Exclusive) => CacheTimes::FOREVER,
            Some(Mode::Watch | Mode::Strict) => CacheTimes::NONE,
            Some(Mode::Ttl) => return self.halves(),
        };
        self.changed(usual)
    }

    /// Returns how long the kernel keeps answers of which changes are reported: for good, unless
    /// times were given. In the other modes, a promise may end without a report.
    pub(crate) fn reported(&self) -> Reported {
        let is_timed = [self.entry, self.absence, self.attributes].iter().any(Option::is_some);
        match self.mode {
            None | Some(Mode::Frozen | Mode::Exclusive | Mode::Watch) if !is_timed => Reported::Forever,
            _ => Reported::AsOthers,
        }
    }

    /// Returns these times, with those that are options of their own.
    pub(crate) fn changed(&self, times: CacheTimes) -> CacheTimes {
        CacheTimes {
            entry: self.entry.unwrap_or(times.entry),
            absence: self.absence.unwrap_or(times.absence),
            attributes: self.attributes.unwrap_or(times.attributes),
        }
    }

    /// Returns the mode of a host directory.
    pub(crate) fn coherence(&self) -> Coherence {
        match self.mode {
            Some(Mode::Frozen) => Coherence::Frozen,
            Some(Mode::Exclusive) => Coherence::Exclusive,
            None | Some(Mode::Watch) => Coherence::Watch,
            Some(Mode::Strict) => Coherence::Strict,
            Some(Mode::Ttl) => {
                let CacheTimes { entry, absence, attributes } = self.halves();
                Coherence::Ttl { entry, absence, attributes }
            }
        }
    }

    fn halves(&self) -> CacheTimes {
        let half = |age: Option<Duration>| match age.unwrap_or(AGE) {
            Duration::MAX => Duration::MAX,
            age => age / 2,
        };
        CacheTimes { entry: half(self.entry), absence: half(self.absence), attributes: half(self.attributes) }
    }
}

impl Mode {
    fn of(text: &str) -> anyhow::Result<Mode> {
        Ok(match text {
            "frozen" => Mode::Frozen,
            "exclusive" => Mode::Exclusive,
            "watch" => Mode::Watch,
            "ttl" => Mode::Ttl,
            "strict" => Mode::Strict,
            _ => bail!("there is no such mode; it is {MODES}"),
        })
    }
}

/// Returns whether an option is known, or is one of `mount(8)`.
pub(super) fn is_known(word: &str, of: Of) -> bool {
    let name = word.split('=').next();
    KNOWN.iter().any(|known| Some(known.name) == name && (of == Of::Whole || known.of == of)) || is_of_others(word, of)
}

/// Returns whether an option is one of `mount(8)`.
fn is_of_others(word: &str, of: Of) -> bool {
    let begins = || BEGINNINGS_OF_OTHERS.iter().any(|beginning| word.starts_with(beginning));
    of == Of::Whole && (OF_OTHERS.contains(&word) || begins())
}

/// Passes over an option of `mount(8)`, or fails.
fn unknown(word: &str, name: &str, of: Of) -> anyhow::Result<()> {
    if is_of_others(word, of) {
        return Ok(());
    }
    if name == "remount" {
        bail!("a mounted tree takes no new options: unmount it, or change flags of the kernel alone by mount -i -o remount,ro");
    }
    let form = |known: &Known| match known.value {
        "" => known.name.to_owned(),
        value => format!("{}={value}", known.name),
    };
    let all: Vec<String> = KNOWN.iter().filter(|known| of == Of::Whole || known.of == of).map(form).collect();
    let near = KNOWN.iter().map(|known| known.name).find(|known| strsim::damerau_levenshtein(known, name) == 1);
    let near = near.map_or_else(String::new, |near| format!(" (is \"{near}\" meant?)"));
    bail!("there is no option \"{}\"{near}; there are {}", name.escape_debug(), all.join(", "))
}

fn text_of(text: Option<&str>) -> String {
    text.unwrap_or_default().escape_debug().to_string()
}

/// Reads a time in seconds.
fn seconds(text: &str) -> anyhow::Result<Duration> {
    if text == "forever" {
        return Ok(Duration::MAX);
    }
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    let seconds = seconds.context("it is a number of seconds, which may have a fraction, or forever")?;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Reads a number with a unit.
pub(crate) fn bytes(text: &str) -> anyhow::Result<u64> {
    let digits = text.trim_end_matches(|last: char| !last.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        "t" | "T" => Some(40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(1 << unit));
    number.context("it is a number, which may end in K, M, G or T")
}

fn permissions(text: &str) -> anyhow::Result<u16> {
    let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    mode.context("it is a mode in octal digits, at most 7777")
}

fn id(text: &str) -> anyhow::Result<u32> {
    text.parse().ok().filter(|id| *id != u32::MAX).context("it is a number of a user or group")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Options {
        let mut options = Options::default();
        options.read(text, Of::Whole).unwrap();
        options
    }

    fn refused(text: &str, of: Of) -> String {
        format!("{:#}", Options::default().read(text, of).unwrap_err())
    }

    #[test]
    fn the_last_one_counts() {
        let options = Options { given: String::new(), ..read("ro,rw,dev,suid,nodev,noexec,exec,,size=1k,size=2M") };
        let expected = Options { suid: true, memory: Memory { size: Some(2 << 20), ..Memory::default() }, ..Options::default() };
        assert_eq!(options, expected);
    }

    #[test]
    fn options_of_others_are_passed_over() {
        let text = "defaults,noauto,nofail,_netdev,x-systemd.automount,user=me,comment=a b";
        assert_eq!(Options { given: String::new(), ..read(text) }, Options::default());
        assert!(refused("nofail", Of::Part).starts_with("there is no option \"nofail\""));
    }

    #[test]
    fn bad_options_are_refused() {
        for (text, says) in [
            ("frob", "there is no option \"frob\"; there are ro, rw, dev"),
            ("noexe", "(is \"noexec\" meant?)"),
            ("ro=1", "leave \"=1\" out"),
            ("size", "write size=BYTES"),
            ("size=", "write size=BYTES"),
            ("size=1x", "K, M, G or T"),
            ("size=99999999999T", "K, M, G or T"),
            ("coherence=some", MODES),
            ("entry_timeout=-1", "number of seconds"),
            ("entry_timeout=nan", "number of seconds"),
            ("mode=9", "octal"),
            ("uid=root", "number of a user"),
            ("remount,ro", "mount -i"),
        ] {
            let error = refused(text, Of::Whole);
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(refused("dev", Of::Part).contains("give it with -o"));
        assert!(!refused("frob", Of::Part).contains("allow_other"));
    }

    #[test]
    fn times_follow_the_mode() {
        assert_eq!(read("").times(), CacheTimes::FOREVER);
        assert_eq!(read("coherence=exclusive,negative_timeout=0").times().absence, Duration::ZERO);
        assert_eq!(read("coherence=watch").times(), CacheTimes::NONE);
        let ttl = read("coherence=ttl,entry_timeout=3,attr_timeout=forever");
        let half = |millis| Duration::from_millis(millis);
        assert_eq!(ttl.times(), CacheTimes { entry: half(1500), absence: half(500), attributes: Duration::MAX });
        let expected = Coherence::Ttl { entry: half(1500), absence: half(500), attributes: Duration::MAX };
        assert_eq!(ttl.coherence(), expected);
    }
}
