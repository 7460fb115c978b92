//! x
use pathwalk_recording::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let f = std::fs::File::open(&a[1]).unwrap();
    let t = std::time::Instant::now();
    let r = Recording::read(f, Options { cwd: a.get(2).map(|c| c.into()), progress: None });
    let e = t.elapsed();
    match r {
        Err(e) => println!("error: {e}"),
        Ok(r) => {
            println!(
                "{:#?}\nlookups {} total {} seq {} stride {} starts {} {:?}",
                r.tally,
                r.lookups.len(),
                r.lookups.iter().map(|l| l.answers.total()).sum::<u64>(),
                r.sequence.len(),
                r.stride,
                r.starts.len(),
                e
            );
            if a.len() > 3 {
                for l in &r.lookups {
                    println!("{} {:?}", String::from_utf8_lossy(&l.lookup.path), l);
                }
            }
        }
    }
}
