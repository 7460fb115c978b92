//! One build of all mutants of a sample, in a copy of the tree. The environment selects one of
//! them.
//!
//! # What always holds
//!
//! - The copy has the sources as they are, with what is not committed. Only the copy is changed.
//! - A mutant with which the copy does not compile is left out of the bundle. That says nothing
//!   about the mutant: it may compile alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use cargo_metadata::{Artifact, Message, TargetKind};

use super::sample::{Mutant, PACKAGES};
use super::schema::{self, Bundled, SWITCH};
use super::stages::Stage;

/// A copy of the tree, in which mutants are switches.
pub(super) struct Bundle<'a> {
    tree: PathBuf,
    target: PathBuf,
    /// The flags of the compiler.
    flags: &'static str,
    sample: &'a [Mutant],
    /// The files that differ from those of the tree, as they were when the tree was copied.
    originals: BTreeMap<String, String>,
    /// The mutants that are in the copy, by their index in the sample.
    held: BTreeSet<usize>,
    /// The sources with mutants, by the names of their files.
    sources: BTreeMap<&'a str, Bundled>,
}

/// A program with tests.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    /// The names of the package and of the target.
    pub(super) name: String,
    /// The argument of `cargo test` that selects the target.
    pub(super) selection: String,
    pub(super) program: PathBuf,
    /// The directory of the package, in which `cargo test` runs the program.
    pub(super) directory: PathBuf,
}

impl Binary {
    /// Returns the name of the package's directory.
    pub(super) fn package(&self) -> &str {
        self.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

impl<'a> Bundle<'a> {
    /// Copies the tree to a directory below `out` and puts the mutants there. Those with which it
    /// does not compile with these flags are taken out again.
    pub(super) fn new(sample: &'a [Mutant], flags: &'static str, out: &Path) -> Result<Bundle<'a>> {
        let out = std::path::absolute(out)?;
        let target = out.join(if flags.is_empty() { "target" } else { "target-shuttle" });
        let held = (0..sample.len()).collect();
        let of_switch = PACKAGES.map(lib);
        let files = sample.iter().map(|mutant| mutant.file.clone()).chain(of_switch);
        let read = |file: String| fs::read_to_string(&file).with_context(|| format!("read {file}")).map(|text| (file, text));
        let originals = files.map(read).collect::<Result<BTreeMap<_, _>>>()?;
        let mut bundle = Bundle { tree: out.join("tree"), target, flags, sample, originals, held, sources: BTreeMap::new() };
        copy_tree(&bundle.tree, &bundle.originals)?;
        let before = bundle.texts();
        loop {
            bundle.write()?;
            let errors = bundle.errors()?;
            if errors.is_empty() {
                break;
            }
            let culprits = culprits(&errors, &bundle.sources)?;
            bundle.held.retain(|number| !culprits.contains(number));
        }
        // A file that is now as it was keeps its time, so that cargo builds only what differs.
        for (path, (text, time)) in before {
            if fs::read(&path)? == text {
                fs::File::options().write(true).open(&path)?.set_modified(time)?;
            }
        }
        Ok(bundle)
    }

    /// Returns what the files that differ have in the copy, and the times at which they got it.
    fn texts(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let text = |file: &String| {
            let path = self.tree.join(file);
            let time = path.metadata().and_then(|found| found.modified()).ok()?;
            Some((fs::read(&path).ok()?, time)).map(|found| (path, found))
        };
        self.originals.keys().filter_map(text).collect()
    }

    pub(super) fn is_for(&self, stage: Stage) -> bool {
        self.flags == stage.flags()
    }

    pub(super) fn holds(&self, number: usize) -> bool {
        self.held.contains(&number)
    }

    /// Writes the sources of the mutated packages.
    fn write(&mut self) -> Result<()> {
        let mut by_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for mutant in self.sample {
            by_file.entry(&mutant.file).or_default();
        }
        for number in &self.held {
            let mutant = &self.sample[*number];
            by_file.entry(&mutant.file).or_default().push((*number, mutant));
        }
        self.held.clear();
        for (file, mutants) in by_file {
            let bundled = Bundled::new(&self.originals[file], &mutants).with_context(|| format!("put mutants into {file}"))?;
            self.held.extend(bundled.numbers());
            self.write_source(file, &bundled.text)?;
            self.sources.insert(file, bundled);
        }
        for (package, switch) in PACKAGES.into_iter().zip([SWITCH, "pub(crate) use ::pathwalk::__mutant;\n"]) {
            let file = lib(package);
            self.write_source(&file, &(self.originals[&file].clone() + switch))?;
        }
        Ok(())
    }

    /// Returns whether a mutant compiles, be it in the bundle or alone.
    pub(super) fn compiles(&self, number: usize) -> Result<bool> {
        let mutant = &self.sample[number];
        if self.holds(number) {
            return Ok(true);
        }
        self.put_alone(mutant)?;
        let errors = self.errors();
        self.take_back(mutant)?;
        Ok(errors?.is_empty())
    }

    /// Writes the file of a mutant with its change, and without switches.
    pub(super) fn put_alone(&self, mutant: &Mutant) -> Result<()> {
        self.write_source(&mutant.file, &schema::changed(&self.originals[&mutant.file], mutant))
    }

    /// Writes the file of a mutant as it is in the bundle.
    pub(super) fn take_back(&self, mutant: &Mutant) -> Result<()> {
        self.write_source(&mutant.file, &self.sources[mutant.file.as_str()].text)
    }

    fn write_source(&self, file: &str, text: &str) -> Result<()> {
        write_changed(&self.tree.join(file), text.as_bytes())
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target);
        // The switches make parentheses and unreachable code that the lints object to.
        command.env("RUSTFLAGS", format!("{} --cap-lints=allow", self.flags));
        command.env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// Returns the compiler's errors about the mutated packages.
    fn errors(&self) -> Result<Vec<Diagnostic>> {
        let mut command = self.cargo();
        command.args(["check", "--lib", "--profile=mutants"]).args(PACKAGES.iter().flat_map(|package| ["-p", package]));
        let (messages, succeeded) = messages(&mut command)?;
        let is_error = |message: &Diagnostic| message.level == DiagnosticLevel::Error && !message.spans.is_empty();
        let errors: Vec<Diagnostic> = messages.into_iter().filter_map(diagnostic).filter(is_error).collect();
        ensure!(succeeded || !errors.is_empty(), "the copy in {} does not compile", self.tree.display());
        Ok(errors)
    }

    /// Builds test programs of a stage.
    pub(super) fn build(&self, stage: Stage, programs: &[impl AsRef<OsStr>]) -> Result<Vec<Binary>> {
        let mut command = self.cargo();
        command.args(["test", "--no-run", "--profile=mutants"]).args(programs);
        command.args(stage.packages().iter().flat_map(|package| ["-p", package]));
        let (messages, succeeded) = messages(&mut command)?;
        let (mut binaries, mut errors) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                Message::CompilerArtifact(artifact) => binaries.extend(binary(artifact)),
                message => errors.extend(diagnostic(message).and_then(|error| error.rendered)),
            }
        }
        ensure!(succeeded, "the tests in {} do not compile:\n{}", self.tree.display(), errors.join("\n"));
        Ok(binaries)
    }
}

/// Returns the file of a package that gets the switch.
fn lib(package: &str) -> String {
    format!("crates/{package}/src/lib.rs")
}

fn messages(command: &mut Command) -> Result<(Vec<Message>, bool)> {
    command.arg("--message-format=json").stdout(Stdio::piped());
    let mut child = command.spawn().context("run cargo")?;
    let output = std::io::BufReader::new(child.stdout.take().context("take the output of cargo")?);
    let messages = Message::parse_stream(output).collect::<Result<_, _>>().context("read the messages of cargo")?;
    Ok((messages, child.wait()?.success()))
}

fn diagnostic(message: Message) -> Option<Diagnostic> {
    if let Message::CompilerMessage(message) = message { Some(message.message) } else { None }
}

fn binary(artifact: Artifact) -> Option<Binary> {
    let program = artifact.executable.filter(|_| artifact.profile.test)?.into();
    let directory = artifact.manifest_path.parent()?.to_path_buf();
    let target = &artifact.target;
    let is_lib = target.kind.contains(&TargetKind::Lib);
    let selection = if is_lib { "--lib".to_owned() } else { format!("--test={}", target.name) };
    let name = format!("{} {selection}", directory.file_name()?);
    Some(Binary { name, selection, program, directory: directory.into() })
}

/// Returns the mutants that the errors are about. An error that lies at no mutant is put down to
/// all mutants of its file: a type that is left open, for example, may be noticed elsewhere.
fn culprits(errors: &[Diagnostic], sources: &BTreeMap<&str, Bundled>) -> Result<BTreeSet<usize>> {
    let mut culprits = BTreeSet::new();
    for error in errors {
        let places: Vec<(&Bundled, Range<usize>)> = error.spans.iter().filter_map(|span| place(span, sources)).collect();
        let own: Vec<usize> = places.iter().flat_map(|(source, place)| source.culprits(place)).collect();
        let all_of_file = || places.iter().flat_map(|(source, _)| source.numbers()).collect();
        culprits.extend(if own.is_empty() { all_of_file() } else { own });
    }
    if culprits.is_empty() {
        bail!("no mutant is at an error:\n{}", errors[0].rendered.as_deref().unwrap_or(&errors[0].message));
    }
    Ok(culprits)
}

/// Returns the mutated source that a primary span is in, and where. Of a macro, it is the call.
fn place<'a>(span: &DiagnosticSpan, sources: &'a BTreeMap<&str, Bundled>) -> Option<(&'a Bundled, Range<usize>)> {
    let at = |span: &DiagnosticSpan| Some((sources.get(&*span.file_name)?, span.byte_start as usize..span.byte_end as usize));
    let calls = std::iter::successors(Some(span), |span| span.expansion.as_ref().map(|expansion| &expansion.span));
    calls.filter(|_| span.is_primary).find_map(at)
}

/// Makes the directory a copy of what git keeps or does not ignore, but for the files `except`.
/// Writes only what differs, so that cargo builds only that.
fn copy_tree(to: &Path, except: &BTreeMap<String, String>) -> Result<()> {
    let output = Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output();
    let output = output.context("run git ls-files")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).context("a file whose name is not UTF-8")?;
    // A file that was deleted and is still in the index is left out.
    let files = || list.split_terminator('\0').filter(|file| Path::new(file).is_file());
    for file in files() {
        let copy = to.join(file);
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        if !except.contains_key(file) {
            write_changed(&copy, &fs::read(file).with_context(|| format!("read {file}"))?)?;
        }
    }
    remove_others(to, to, &files().map(Path::new).collect())
}

/// Removes the files below a directory of the copy that are not in the tree.
fn remove_others(dir: &Path, copy: &Path, tree: &BTreeSet<&Path>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, copy, tree)?;
        } else if !tree.contains(path.strip_prefix(copy)?) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn write_changed(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
