//! The recorded walks that are built in. Their origin is described in `recordings/README.md`.

use pathwalk_recording::Input;

use super::file;
use super::trace::Walks;

/// A built-in recording of walks.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// The name of the recording.
    pub name: &'static str,
    /// A description of a few words.
    pub about: &'static str,
    packed: &'static [u8],
}

impl Recorded {
    /// Unpacks and parses the walks.
    pub fn walks(&self) -> Walks {
        let bytes = Input::new(self.packed).and_then(Input::into_bytes).expect("a built-in file is whole: a test unpacks it");
        file::parse(&bytes).expect("a built-in file is well formed: a test parses it")
    }
}

macro_rules! recorded {
    ($name:literal, $about:literal) => {
        Recorded { name: $name, about: $about, packed: include_bytes!(concat!("../recordings/", $name, ".walks.gz")) }
    };
}

/// All built-in recordings.
pub const RECORDED: &[Recorded] = &[
    recorded!("make", "a C++ compiler, eight files"),
    recorded!("cargo", "a Rust compiler, 25 crates"),
    recorded!("headers", "a C++ compiler that searches 30 directories: a storm of absent names"),
    recorded!("node", "a module resolver: 40 test programs"),
    recorded!("npm", "a package manager: express and eslint installed"),
    recorded!("scan", "a compiler; a scan of 20,000 files; the compiler again"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_walks_are_whole() {
        for recorded in RECORDED {
            let walks = recorded.walks();
            assert!(walks.len() > 10_000 && walks.entries() > 800, "{}", recorded.name);
        }
    }
}
