//! What the works need, made once on ext4: archives of trees, and their sizes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// How much there is of everything.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// The share of the usual size: of all, this part.
    pub(crate) of: usize,
    /// Files of 2 KiB in an archive, 100 in each directory.
    pub(crate) archived: usize,
    /// Files that are created and renamed.
    pub(crate) created: usize,
    /// Files of the repository.
    pub(crate) tracked: usize,
    /// C files.
    pub(crate) compiled: usize,
    /// Names in one directory.
    pub(crate) names: usize,
    /// Bytes of one file.
    pub(crate) data: usize,
}

/// Archives, which each subject unpacks.
pub(crate) struct Material {
    pub(crate) size: Size,
    /// The directory in which they are.
    pub(crate) directory: PathBuf,
    pub(crate) tree: PathBuf,
    pub(crate) repository: PathBuf,
    pub(crate) sources: PathBuf,
}

impl Size {
    /// Returns a share of the usual size.
    pub(crate) fn share(of: usize) -> Size {
        let part = |whole: usize| (whole / of).max(1);
        Size {
            of,
            archived: part(20_000),
            created: part(10_000),
            tracked: part(50_000),
            compiled: part(300),
            names: part(1_000_000),
            data: part(512) << 20,
        }
    }
}

impl Material {
    /// Makes all archives below a directory.
    pub(crate) fn make(base: &Path, size: Size) -> Result<Material> {
        let made = base.join("made");
        fs::create_dir(&made)?;
        let archive = |name: &str, fill: &dyn Fn(&Path) -> Result<()>| -> Result<()> {
            let (dir, archive) = (made.join(name), base.join(name).with_extension("tar"));
            fs::create_dir(&dir)?;
            fill(&dir)?;
            run(Command::new("tar").arg("-C").arg(&made).arg("-cf").arg(&archive).arg(name))?;
            Ok(fs::remove_dir_all(&dir)?)
        };
        archive("tree", &|dir| files(dir, size.archived, 2048))?;
        archive("repository", &|dir| {
            files(dir, size.tracked, 200)?;
            let git = |arguments: &[&str]| run(git(dir).args(arguments));
            git(&["init", "-q"])?;
            git(&["add", "."])?;
            git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"])?;
            git(&["gc", "-q"])
        })?;
        archive("sources", &|dir| c_files(dir, size.compiled))?;
        Ok(Material::in_directory(base, size))
    }

    /// Returns the archives that were made below a directory.
    pub(crate) fn in_directory(base: &Path, size: Size) -> Material {
        let [tree, repository, sources] = ["tree", "repository", "sources"].map(|name| base.join(name).with_extension("tar"));
        Material { size, directory: base.to_owned(), tree, repository, sources }
    }
}

/// Returns the command `git` in a directory, which reads no settings of its user.
pub(crate) fn git(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git
}

/// Runs a command, of which nothing is shown but errors.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.stdout(std::process::Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Makes files, 100 in each directory.
fn files(dir: &Path, count: usize, length: usize) -> Result<()> {
    for number in 0..count {
        let below = dir.join(format!("d{:04}", number / 100));
        if number % 100 == 0 {
            fs::create_dir(&below)?;
        }
        let line = format!("file {number}: some text that differs from that of other files\n");
        let text: Vec<u8> = line.bytes().cycle().take(length).collect();
        fs::write(below.join(format!("f{number:06}.txt")), text)?;
    }
    Ok(())
}

/// Makes C files with some headers, and a makefile.
fn c_files(dir: &Path, count: usize) -> Result<()> {
    for header in 0..20 {
        fs::write(dir.join(format!("h{header}.h")), format!("struct s{header} {{ int a[{header} + 1]; }};\n"))?;
    }
    let includes: String = (0..20).map(|header| format!("#include \"h{header}.h\"\n")).collect();
    for number in 0..count {
        let body = format!("{includes}#include <stdio.h>\nint f{number}(struct s1 *s) {{ return printf(\"%d\", s->a[0]); }}\n");
        fs::write(dir.join(format!("c{number}.c")), body)?;
    }
    let makefile = "objects := $(patsubst %.c,%.o,$(wildcard *.c))\n\
                    all.a: $(objects)\n\t$(AR) rcs $@ $^\n\
                    %.o: %.c $(wildcard *.h)\n\t$(CC) -O0 -c -o $@ $<\n\
                    clean:\n\trm -f *.o all.a\n";
    Ok(fs::write(dir.join("Makefile"), makefile)?)
}
