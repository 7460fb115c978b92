//! What the test of commits builds on: the kernel's file systems, on disks that note each write,
//! keep what they say to have synced.
//!
//! A file is written as a database is: pages, a sync, a header that says how far it is, a sync.
//! Other files are made and renamed meanwhile. No part of this project takes part.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fastrand::Rng;

use super::disk::{Content, Disks, Done, SECTOR, synced};
use super::machine::{Kind, Machine};
use super::{each_loss, sync_beside};

/// The pages of the file; the first one is the header.
const PAGES: usize = 40;

/// The steps of a history.
const STEPS: u16 = 16;

/// The step that wrote each page last.
type Pages = [u16; PAGES];

/// What the file had after a step.
struct After {
    pages: Pages,
    /// The number of writes by which it was durable.
    by: usize,
}

struct Happened {
    begin: Content,
    history: Vec<(usize, Done)>,
    /// What was there at the begin, and after each step.
    steps: Vec<After>,
}

fn write_page(file: &File, page: usize, step: u16) -> io::Result<()> {
    let data: Vec<_> = step.to_be_bytes().repeat(SECTOR / 2);
    // A header is a part of its page.
    let length = if page == 0 { 320 } else { SECTOR };
    file.write_all_at(&data[..length], (page * SECTOR) as u64)
}

fn read_pages(file: &File) -> io::Result<Pages> {
    let mut pages = [0; PAGES];
    for (page, step) in pages.iter_mut().enumerate() {
        let mut first = [0; 2];
        let length = file.read_at(&mut first, (page * SECTOR) as u64)?;
        *step = if length == 2 { u16::from_be_bytes(first) } else { 0 };
    }
    Ok(pages)
}

/// Writes some pages, and the header. The file may be longer then.
fn step(file: &File, step: u16, pages: &mut Pages, random: &mut Rng) -> io::Result<()> {
    for _ in 0..random.usize(1..8) {
        let page = random.usize(1..PAGES.min(4 + usize::from(step)));
        write_page(file, page, step)?;
        pages[page] = step;
    }
    file.sync_data()?;
    write_page(file, 0, step)?;
    pages[0] = step;
    file.sync_data()
}

/// Makes and renames files beside it.
fn shuffle(directory: &Path, random: &mut Rng) -> io::Result<()> {
    let [from, to] = [(); 2].map(|()| directory.join(format!("file{}", random.u8(..4))));
    fs::write(&from, "text")?;
    fs::rename(&from, &to)?;
    if random.bool() {
        rustix::fs::syncfs(File::open(directory)?)?;
    }
    Ok(())
}

fn happen(disks: &Disks, kind: Kind, random: &mut Rng) -> Result<Happened, String> {
    let begin = kind.make()?;
    let machine = Machine::start(disks, kind, std::slice::from_ref(&begin))?;
    let directory = machine.mounted(0).join("directory");
    let writes = || machine.history.lock().len();
    let mut run = || {
        fs::create_dir(&directory)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(directory.join("rows"))?;
        write_page(&file, 0, 0)?;
        rustix::fs::syncfs(&file)?;
        let begin = synced(vec![begin.clone()], &machine.history).remove(0);
        let (mut pages, mut steps) = ([0; PAGES], vec![After { pages: [0; PAGES], by: 0 }]);
        let (is_over, seed, other) = (AtomicBool::new(false), random.u64(..), machine.mounted(0).join("other"));
        std::thread::scope(|scope| {
            scope.spawn(|| sync_beside(&other, &is_over, Rng::with_seed(seed)));
            let done = (1..=STEPS).try_for_each(|number| {
                step(&file, number, &mut pages, random)?;
                steps.push(After { pages, by: writes() });
                shuffle(&directory, random)
            });
            is_over.store(true, Relaxed);
            done
        })?;
        Ok((begin, steps))
    };
    let (begin, steps) = run().map_err(|error: io::Error| error.to_string())?;
    let history = machine.history.lock().clone();
    Ok(Happened { begin, history, steps })
}

/// Checks that all is there that was synced, and nothing of what was not written.
fn check(disks: &Disks, kind: Kind, steps: &[After], (writes, contents): (usize, Vec<Content>)) {
    let machine = Machine::start(disks, kind, &contents).unwrap();
    let file = File::open(machine.mounted(0).join("directory/rows")).unwrap();
    let (found, length) = (read_pages(&file).unwrap(), file.metadata().unwrap().len());
    let durable = steps.iter().rposition(|step| step.by <= writes).unwrap();
    let (step, at_most) = (usize::from(found[0]), (durable + 1).min(steps.len() - 1));
    assert!((durable..=at_most).contains(&step), "step {step} is there, and {durable} was synced; {length} bytes");
    for (page, is) in found.into_iter().enumerate() {
        let (old, new) = (steps[step].pages[page], steps[at_most].pages[page]);
        assert!([old, new].contains(&is), "page {page} is of step {is}, and the header of step {step}");
    }
}

/// Runs a history on a file system, and checks what a loss of power leaves after each of its
/// writes. Returns the number of losses, or the reason for which there are no such disks.
pub(crate) fn round(disks: &Disks, kind: Kind, checks: usize, random: &mut Rng) -> Result<usize, String> {
    let Happened { begin, history, steps } = happen(disks, kind, random)?;
    let mut losses = 0;
    let check = |writes, contents, _: &mut Rng| {
        check(disks, kind, &steps, (writes, contents));
        losses += 1;
    };
    each_loss((vec![begin], &history), checks, random, &format!("{kind:?}"), check);
    Ok(losses)
}
