//! The works: what is done in each subject, and measured.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Advice, fadvise};

use crate::Result;
use crate::material::{Material, Size, git, run};

type Step = fn(&Path, &Material) -> Result<()>;

/// A work: its steps get the directory of the subject.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) units: fn(Size) -> usize,
    /// The subjects that take part; all, if there is no list.
    pub(crate) by: Option<&'static [&'static str]>,
    /// Done once, before all rounds.
    pub(crate) prepare: Step,
    /// Done before each measurement.
    pub(crate) begin: Step,
    /// Done and measured.
    pub(crate) run: Step,
    /// Done once, behind all rounds.
    pub(crate) clear: Step,
}

const NOTHING: Step = |_, _| Ok(());

/// What most works have.
const USUAL: Work = Work {
    name: "",
    says: "",
    unit: "files",
    units: |size| size.tracked,
    by: None,
    prepare: NOTHING,
    begin: NOTHING,
    run: NOTHING,
    clear: NOTHING,
};

/// A work in the unpacked repository, all of which the caches have.
const WARM: Work = Work { prepare: |at, made| unpack_repository(at, made), ..USUAL };

/// A work on the data of one large file.
const DATA: Work = Work {
    unit: "MiB",
    units: |size| size.data >> 20,
    prepare: |at, made| write_all(&at.join("data"), made.size.data),
    clear: |at, _| remove(&at.join("data")),
    ..USUAL
};

/// Blocks that are read and written in a random order.
const BLOCK: usize = 4096;

pub(crate) const ALL: &[Work] = &[
    Work {
        name: "tar",
        says: "tar -x",
        units: |size| size.archived,
        begin: |at, _| remove(&at.join("tree")),
        run: |at, made| unpack(&made.tree, at),
        clear: |at, _| remove(&at.join("tree")),
        ..USUAL
    },
    Work {
        name: "rm",
        says: "rm -rf of what tar -x made",
        units: |size| size.archived,
        begin: |at, made| unpack(&made.tree, at),
        run: |at, _| run(Command::new("rm").arg("-rf").arg(at.join("tree"))),
        ..USUAL
    },
    Work {
        name: "create",
        says: "creates of empty files",
        units: |size| size.created,
        begin: |at, _| {
            remove(&at.join("many"))?;
            Ok(fs::create_dir(at.join("many"))?)
        },
        run: |at, made| (0..made.size.created).try_for_each(|number| create(at, number)),
        clear: |at, _| remove(&at.join("many")),
        ..USUAL
    },
    Work {
        name: "rename",
        says: "renames within a directory",
        units: |size| size.created,
        begin: |at, made| {
            remove(&at.join("many"))?;
            fs::create_dir(at.join("many"))?;
            (0..made.size.created).try_for_each(|number| create(at, number))
        },
        run: |at, made| {
            let many = at.join("many");
            let rename = |number| fs::rename(many.join(format!("f{number}")), many.join(format!("g{number}")));
            Ok((0..made.size.created).try_for_each(rename)?)
        },
        clear: |at, _| remove(&at.join("many")),
        ..USUAL
    },
    Work {
        name: "status",
        says: "git status, warm",
        begin: |at, _| run(git(&at.join("repository")).arg("status")),
        run: |at, _| run(git(&at.join("repository")).arg("status")),
        ..WARM
    },
    Work { name: "find", says: "find -size +1c, warm", begin: |at, _| find(at), run: |at, _| find(at), ..WARM },
    Work { name: "search", says: "grep -r, warm", begin: |at, _| search(at), run: |at, _| search(at), ..WARM },
    Work { name: "read", says: "reads of whole files, warm", begin: |at, _| read_all(at), run: |at, _| read_all(at), ..WARM },
    Work {
        name: "make",
        says: "make -j2 of C files",
        units: |size| size.compiled,
        prepare: |at, made| unpack(&made.sources, at),
        begin: |at, _| run(Command::new("make").arg("-C").arg(at.join("sources")).arg("clean")),
        run: |at, _| run(Command::new("make").arg("-j2").arg("-C").arg(at.join("sources"))),
        clear: |at, _| remove(&at.join("sources")),
        ..USUAL
    },
    Work {
        name: "sequential-write",
        says: "a file written and synced",
        prepare: NOTHING,
        run: |at, made| write_all(&at.join("data"), made.size.data),
        begin: |at, _| remove(&at.join("data")),
        ..DATA
    },
    Work {
        name: "sequential-read",
        says: "a file read that is not in the page cache of the mount",
        begin: |at, _| drop_cached(at),
        run: |at, _| {
            let (mut file, mut buffer) = (File::open(at.join("data"))?, vec![0; 1 << 20]);
            while std::io::Read::read(&mut file, &mut buffer)? > 0 {}
            Ok(())
        },
        ..DATA
    },
    Work {
        name: "random-read",
        says: "blocks of 4 KiB read in a random order, of a file that is not in the page cache of the mount",
        unit: "blocks",
        units: |size| size.data / BLOCK / 4,
        begin: |at, _| drop_cached(at),
        run: |at, made| {
            let file = File::open(at.join("data"))?;
            fadvise(&file, 0, None, Advice::Random)?;
            let mut buffer = [0; BLOCK];
            blocks(made.size.data, |offset| Ok(file.read_exact_at(&mut buffer, offset)?))
        },
        ..DATA
    },
    Work {
        name: "random-write",
        says: "blocks of 4 KiB written in a random order",
        unit: "blocks",
        units: |size| size.data / BLOCK / 4,
        run: |at, made| {
            let file = OpenOptions::new().write(true).open(at.join("data"))?;
            blocks(made.size.data, |offset| Ok(file.write_all_at(&[7; BLOCK], offset)?))
        },
        ..DATA
    },
    Work {
        name: "names",
        says: "a listing of a large directory",
        unit: "names",
        units: |size| size.names,
        by: Some(&["ext4", "mem"]),
        prepare: |at, made| {
            fs::create_dir(at.join("many"))?;
            (0..made.size.names).try_for_each(|number| create(at, number))
        },
        run: |at, made| {
            let count = fs::read_dir(at.join("many"))?.count();
            if count == made.size.names { Ok(()) } else { Err(format!("{count} names are listed").into()) }
        },
        clear: |at, _| remove(&at.join("many")),
        ..USUAL
    },
];

fn unpack(archive: &Path, at: &Path) -> Result<()> {
    run(Command::new("tar").arg("-C").arg(at).arg("-xf").arg(archive))
}

/// Unpacks the repository, unless it is there.
fn unpack_repository(at: &Path, made: &Material) -> Result<()> {
    if at.join("repository").exists() { Ok(()) } else { unpack(&made.repository, at) }
}

fn remove(path: &Path) -> Result<()> {
    let is_dir = fs::symlink_metadata(path).is_ok_and(|of| of.is_dir());
    match if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn create(at: &Path, number: usize) -> Result<()> {
    Ok(File::create(at.join("many").join(format!("f{number}"))).map(drop)?)
}

fn find(at: &Path) -> Result<()> {
    run(Command::new("find").arg(at.join("repository")).args(["-size", "+1c"]))
}

/// Searches for a text that is in no file.
fn search(at: &Path) -> Result<()> {
    let status = Command::new("grep").args(["-r", "zzz", "--exclude-dir=.git"]).arg(at.join("repository")).status()?;
    if status.code() == Some(1) { Ok(()) } else { Err(format!("grep: {status}").into()) }
}

fn read_all(at: &Path) -> Result<()> {
    for dir in fs::read_dir(at.join("repository"))? {
        let dir = dir?;
        if dir.file_name() == ".git" {
            continue;
        }
        for file in fs::read_dir(dir.path())? {
            fs::read(file?.path())?;
        }
    }
    Ok(())
}

fn write_all(path: &Path, length: usize) -> Result<()> {
    let (file, piece) = (File::create(path)?, vec![3; 1 << 20]);
    (0..length >> 20).try_for_each(|number| file.write_all_at(&piece, (number as u64) << 20))?;
    Ok(file.sync_all()?)
}

/// Has the kernel drop what it has cached of the file.
fn drop_cached(at: &Path) -> Result<()> {
    Ok(fadvise(File::open(at.join("data"))?, 0, None, Advice::DontNeed)?)
}

/// Passes the offsets of a quarter of the blocks to `each`, in an order that is the same each time.
fn blocks(length: usize, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(7);
    let all = length / BLOCK;
    (0..all / 4).try_for_each(|_| each((random.usize(..all) * BLOCK) as u64))
}
