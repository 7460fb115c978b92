//! The words of operations on locks, leases, handles and sockets.

use anyhow::{Result, bail, ensure};
use pathwalk::LockKind;

use super::Word;

/// The owner of locks on ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// The process, which all actors share.
    Process,
    /// The open file.
    File,
}

/// A place for a file handle, or for a socket that is bound, by its small number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Kept(pub(crate) u8);

/// The number of such places, of each kind.
pub(crate) const KEPT: usize = 4;

/// The type of a socket that connects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketKind {
    Datagram,
    Stream,
}

macro_rules! choices {
    ($type:ty { $($value:path = $word:literal),* }) => {
        impl Word for $type {
            fn write(&self, out: &mut String) {
                out.push_str(match self { $($value => $word),* });
            }

            fn read(word: &str) -> Result<$type> {
                Ok(match word {
                    $($word => $value,)*
                    _ => bail!(concat!("one of:", $(" ", $word),*)),
                })
            }
        }
    };
}

choices!(Family { Family::Process = "process", Family::File = "file" });
choices!(SocketKind { SocketKind::Datagram = "datagram", SocketKind::Stream = "stream" });
choices!(LockKind { LockKind::Shared = "shared", LockKind::Exclusive = "exclusive", LockKind::Unlock = "unlock" });

impl Word for Kept {
    fn write(&self, out: &mut String) {
        out.push_str(&self.0.to_string());
    }

    fn read(word: &str) -> Result<Kept> {
        let kept: u8 = word.parse()?;
        ensure!(usize::from(kept) < KEPT, "places are 0 to {}", KEPT - 1);
        Ok(Kept(kept))
    }
}
