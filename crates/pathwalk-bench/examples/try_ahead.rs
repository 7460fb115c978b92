//! x
use pathwalk::{Access, Credentials, Vfs};
use pathwalk_bench::wide::tree::{Kind, Tree, TreePath};
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: u64 = args[1].parse().unwrap();
    let mode = &args[2];
    let reps: usize = args[3].parse().unwrap();
    let tree = Tree::new(n);
    let vfs = Vfs::builder().budget(Vfs::budget_for(2 * n + tree.directories() + 1000)).one_by_one().build(tree).unwrap();
    let c = vfs.context(Credentials::user(1000, 1000, &[]));
    let paths = tree.shuffled(Kind::File);
    let absent = tree.shuffled(Kind::Absent);
    for _ in 0..2 {
        for p in paths.iter().chain(&absent) {
            let _ = c.access(p, Access::READ);
        }
    }
    let step = |paths: &[TreePath]| match &mode[..] {
        "one" => paths.iter().filter(|p| c.access(*p, Access::READ).is_ok()).count(),
        "many" => c.access_many(paths, Access::READ).filter(Result::is_ok).count(),
        "pre" => {
            for w in paths.chunks(32) {
                c.prefetch(w.iter().map(|p| (pathwalk::At::Cwd, p)));
            }
            0
        }
        "none" => 0,
        "stat" => paths.iter().filter(|p| c.stat(*p).is_ok()).count(),
        "stats" => c.stat_many(paths).filter(Result::is_ok).count(),
        _ => panic!(),
    };
    let t = Instant::now();
    let mut s = 0;
    for _ in 0..reps {
        s += step(&paths);
    }
    println!("{mode} {n}: {:.1} ns {s}", t.elapsed().as_nanos() as f64 / (reps as f64 * n as f64));
}
