//! The bench `readlink`: the body of a link is read into a buffer of 1024 bytes. It also measures
//! the gain from storing the body's length.

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::hint::black_box;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use pathwalk::{Errno, internals};
use tempfile::TempDir;

use crate::Bench;
use crate::field::{Comparison, Entrant, Field, OURS};
use crate::gcc_trace::WALKED;
use crate::kernel;
use crate::machine::{self, Backing, Doing, SetUpError};
use crate::peers::{Peer, dashmap, locked_tree::LockedTree, papaya};
use crate::variants::{ScannedLength, Walked};
use crate::work::{Asking, Work};

const NAME: &str = "initrd.img";
const BODY: &str = "boot/initrd.img-6.18.0-amd64";
const SCANNED: &str = "pathwalk, length by scanning";
/// The link of the listing that is used where no files are made.
const LISTED: &[u8] = b"/usr/bin/gcc-12";
const BUFFER: usize = 1024;

/// The number of lookups in one pass.
const TIMES: usize = 64;

/// The bench.
pub const BENCH: Bench = Bench { name: "readlink", about: "readlink of a short link into a buffer of 1024 bytes", set_up };

thread_local! {
    /// The buffer of each thread.
    static TARGET: RefCell<[u8; BUFFER]> = const { RefCell::new([0; BUFFER]) };
}

fn set_up(backing: Backing) -> Result<Field, SetUpError> {
    let (path, files) = match backing {
        Backing::Machine => {
            let temp = open_to_all()?;
            let path = temp.path().join(NAME);
            symlink(BODY, &path).doing(|| format!("making the link \"{}\"", machine::escaped(&path)))?;
            (path.into_os_string().into_vec(), Some(temp))
        }
        Backing::Listing => (LISTED.to_vec(), None),
    };
    let context = crate::gcc_trace::context(backing)?;
    let (walked, variant) = (context.clone(), context.clone());
    let mut entrants = vec![
        Entrant::new(OURS, reading(&path, move |path, buffer| context.readlink(path, buffer))),
        Entrant::new(WALKED, reading(&path, move |path, buffer| internals::readlink::<Walked>(&walked, path, buffer))),
        Entrant::new(SCANNED, reading(&path, move |path, buffer| internals::readlink::<ScannedLength>(&variant, path, buffer))),
    ];
    if backing == Backing::Machine {
        entrants.insert(1, kernels(path.clone())?);
        let tree = LockedTree::new(machine::credentials()?).doing(|| format!("loading the root of \"{}\"", LockedTree::WHAT))?;
        entrants.extend([
            peer(tree, &path),
            peer(dashmap::WholePaths::default(), &path),
            peer(papaya::WholePaths::default(), &path),
        ]);
    }
    let comparisons = vec![Comparison { what: "cached length", with: WALKED, without: SCANNED, linux_percent: Some(1.5) }];
    Ok(Field { name: BENCH.name, entrants, comparisons, notes: vec![], files })
}

/// Creates a temporary directory that all users may search, like the directories of a system.
pub(crate) fn open_to_all() -> Result<TempDir, SetUpError> {
    let temp = tempfile::Builder::new().prefix("pathwalk-bench-").tempdir().doing(|| "making a temporary directory".into())?;
    let mode = Permissions::from_mode(0o755);
    fs::set_permissions(temp.path(), mode).doing(|| format!("chmod 755 \"{}\"", machine::escaped(temp.path())))?;
    Ok(temp)
}

fn peer<P: Peer + 'static>(peer: P, path: &[u8]) -> Entrant {
    let work = reading(path, move |path, buffer| peer.readlink(path, buffer));
    Entrant { gets_wrong: Some(P::GETS_WRONG), ..Entrant::new(P::WHAT, work) }
}

fn kernels(path: Vec<u8>) -> Result<Entrant, SetUpError> {
    let path = CString::new(path).doing(|| "making a C string of a temporary path".into())?;
    let ask = |path: &CString| into_buffer(|buffer| kernel::readlink(path, buffer));
    Ok(Entrant::new("readlink(2)", Asking { questions: vec![path; TIMES], ask }))
}

fn reading<R>(path: &[u8], read: R) -> impl Work + use<R>
where
    R: Fn(&[u8], &mut [u8]) -> Result<usize, Errno> + Send + Sync,
{
    let ask = move |path: &Vec<u8>| into_buffer(|buffer| read(path, buffer));
    Asking { questions: vec![path.to_vec(); TIMES], ask }
}

/// Reads into this thread's buffer, and makes the optimiser assume that the contents are used.
#[inline(always)]
fn into_buffer(read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> bool {
    TARGET.with_borrow_mut(|buffer| {
        let outcome = read(&mut buffer[..]);
        black_box(&buffer);
        outcome.is_ok()
    })
}
