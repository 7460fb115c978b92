//! Random programs of opens, closes, reads and writes that do not wait, on one pipe: by the kernel
//! and by the engine, with equal answers and equal data.

use pathwalk::OpenFlags;

use crate::side::{Ends, Engine, Kernel, NAMES, Side};

const FILES: usize = 5;

/// The sizes of reads and writes, about those that matter.
const SIZES: [usize; 14] = [0, 1, 2, 100, 1000, 2048, 4095, 4096, 4097, 8191, 8192, 10_000, 65_536, 70_000];

/// One step, which names a file by its number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Open(usize, OpenFlags, &'static str),
    Close(usize),
    Read(usize, usize),
    Write(usize, usize, u8),
}

fn drawn(rng: &mut fastrand::Rng) -> Step {
    let file = rng.usize(..FILES);
    let size = if rng.u8(..3) == 0 { rng.usize(..9000) } else { SIZES[rng.usize(..SIZES.len())] };
    match rng.u8(..20) {
        0..4 => {
            let (read, write) = (OpenFlags::READ, OpenFlags::WRITE);
            let rights = [read, write, read | write][rng.usize(..3)];
            let more = [OpenFlags::empty(), OpenFlags::APPEND, OpenFlags::TRUNCATE][rng.usize(..3)];
            Step::Open(file, rights | more | OpenFlags::NONBLOCK, NAMES[rng.usize(..NAMES.len())])
        }
        4 => Step::Close(file),
        5..11 => Step::Read(file, size),
        _ => Step::Write(file, size, rng.u8(..)),
    }
}

struct Stage<S: Side> {
    side: S,
    files: [Option<S::File>; FILES],
}

impl<S: Side> Stage<S> {
    fn new() -> Stage<S> {
        Stage { side: S::new(), files: Default::default() }
    }

    /// Returns the answer to a step.
    fn take(&mut self, step: Step) -> String {
        match step {
            Step::Open(file, flags, name) => match self.side.open(name, flags) {
                Ok(opened) => {
                    self.files[file] = Some(opened);
                    "open".into()
                }
                Err(errno) => format!("{errno:?}"),
            },
            Step::Close(file) => {
                self.files[file] = None;
                "closed".into()
            }
            Step::Read(file, size) => format!("{:?}", self.files[file].as_ref().map(|file| file.read(size))),
            Step::Write(file, size, first) => {
                let data: Vec<u8> = (0..size).map(|at| (at as u8).wrapping_mul(31).wrapping_add(first)).collect();
                format!("{:?}", self.files[file].as_ref().map(|file| file.write(&data)))
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "makes pipes on the host")]
fn programs_have_the_same_answers() {
    let most = std::env::var("PATHWALK_PIPE_PROGRAMS").map_or(200, |text| text.parse().expect("a number of programs"));
    for seed in 0..most {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut kernel, mut engine) = (Stage::<Kernel>::new(), Stage::<Engine>::new());
        let mut so_far = Vec::new();
        for _ in 0..200 {
            let step = drawn(&mut rng);
            so_far.push(step);
            let (of_kernel, of_engine) = (kernel.take(step), engine.take(step));
            let brief = |answer: &str| answer.chars().take(200).collect::<String>();
            assert!(
                of_kernel == of_engine,
                "seed {seed}, {so_far:?}\n    kernel: {}\n    engine: {}",
                brief(&of_kernel),
                brief(&of_engine)
            );
        }
    }
}
