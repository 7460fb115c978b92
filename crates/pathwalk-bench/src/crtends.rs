//! The bench `crtends`: lookups of one deep path, and the gain from checking a directory's search
//! permission by one bit.
//!
//! It also measures a file system with its own permission hook. Its directories have mode 0111. If
//! the file system promises that its hook agrees with that mode, the hook is not called. Otherwise
//! it is called once for each directory. The file itself is under the generic rule here, so that
//! only the directories' checks differ.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::{Access, PermissionRule};
use tempfile::TempDir;

use crate::Bench;
use crate::field::{Comparison, Entrant, Field, OURS};
use crate::gcc_trace::{WALKED, context, ours, peers, variant};
use crate::machine::{self, Backing, Doing, SetUpError};
use crate::readlink::open_to_all;
use crate::variants::{FullCheck, ModeTest, Walked};
use pathwalk_trace::listing::Listing;
use pathwalk_trace::trace::Trace;

const PATH: &str = "/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o";
const MODE: &str = "pathwalk, mode test";
const FULL: &str = "pathwalk, full check";
const PROMISED: &str = "pathwalk, own hook, search promised";
const UNPROMISED: &str = "pathwalk, own hook, nothing promised";

/// The number of lookups in one pass.
const TIMES: usize = 64;

/// The bench.
pub const BENCH: Bench = Bench { name: "crtends", about: "access to one path of six components, all cached", set_up };

fn set_up(backing: Backing) -> Result<Field, SetUpError> {
    let (path, files) = match backing {
        Backing::Machine if !Path::new(PATH).exists() => lay()?,
        _ => (PathBuf::from(PATH), None),
    };
    let path = path.into_os_string().into_vec();
    let trace = Trace::repeated(&path, Access::READ, TIMES);
    let questions = trace.questions();
    let context = context(backing)?;
    let mut entrants = vec![
        Entrant::new(OURS, ours(&context, questions)),
        Entrant::new(WALKED, variant::<Walked>(&context, questions)),
        Entrant::new(MODE, variant::<ModeTest>(&context, questions)),
        Entrant::new(FULL, variant::<FullCheck>(&context, questions)),
        own_hook(PROMISED, PermissionRule::OwnButGenericSearch)?,
        own_hook(UNPROMISED, PermissionRule::Own)?,
    ];
    if backing == Backing::Machine {
        entrants.insert(1, Entrant::kernel(questions));
        entrants.extend(peers(questions)?);
    }
    let notes =
        files.iter().map(|_| format!("{PATH} is not on this machine: a copy in a temporary directory is asked for")).collect();
    Ok(Field { name: BENCH.name, entrants, comparisons: comparisons(), notes, files })
}

fn comparisons() -> Vec<Comparison> {
    let over = |what, with, without, linux_percent| Comparison { what, with, without, linux_percent };
    vec![
        over("whole paths remembered", OURS, WALKED, None),
        over("search bit instead of the full check", WALKED, FULL, Some(5.0)),
        over("mode test instead of the full check", MODE, FULL, None),
        over("search bit instead of the mode test", WALKED, MODE, None),
        over("an own hook's promise", PROMISED, UNPROMISED, Some(5.0)),
    ]
}

/// Creates an entrant over a file system in memory that has its own permission hook, with this rule
/// for directories.
fn own_hook(what: &'static str, rule: PermissionRule) -> Result<Entrant, SetUpError> {
    let trace = Trace::repeated(PATH.as_bytes(), Access::READ, TIMES);
    let who = machine::credentials()?;
    let context = machine::over(listing(rule), who)?;
    Ok(Entrant { hook_calls: Some(hook_calls(rule)?), ..Entrant::new(what, ours(&context, trace.questions())) })
}

/// Returns a listing of directories that all users may search and none may list. This is all that a
/// walk needs.
fn listing(rule: PermissionRule) -> Listing {
    Listing::gcc().with_directory_rule(rule).with_directory_mode(0o111)
}

/// Returns the number of calls of the hook by one cached lookup.
fn hook_calls(rule: PermissionRule) -> Result<f64, SetUpError> {
    let calls = Arc::new(AtomicU64::new(0));
    let context = machine::over(listing(rule).counting(Arc::clone(&calls)), machine::credentials()?)?;
    let ask = || context.access(PATH, Access::READ).doing(|| format!("asking for {PATH} in memory"));
    ask()?;
    let before = calls.load(Ordering::Relaxed);
    ask()?;
    Ok((calls.load(Ordering::Relaxed) - before) as f64)
}

/// Creates the file in a temporary directory.
fn lay() -> Result<(PathBuf, Option<TempDir>), SetUpError> {
    let temp = open_to_all()?;
    let path = temp.path().join(&PATH[1..]);
    let parent = path.parent().unwrap_or(temp.path());
    std::fs::create_dir_all(parent).doing(|| format!("making \"{}\"", machine::escaped(parent)))?;
    std::fs::write(&path, "").doing(|| format!("making \"{}\"", machine::escaped(&path)))?;
    Ok((path, Some(temp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_spares_every_call() {
        assert_eq!(hook_calls(PermissionRule::OwnButGenericSearch).unwrap(), 0.0);
        assert_eq!(hook_calls(PermissionRule::Own).unwrap(), 6.0, "the root and five directories below it");
    }

    #[test]
    fn a_laid_file_is_there() {
        let (path, _temp) = lay().unwrap();
        assert!(path.is_file() && path.ends_with(&PATH[1..]));
    }
}
