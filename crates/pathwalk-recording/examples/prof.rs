//! x
fn main() {
    let a: Vec<String> = std::env::args().collect();
    for _ in 0..a[2].parse::<u32>().unwrap() {
        let f = std::fs::File::open(&a[1]).unwrap();
        let r = pathwalk_recording::Recording::read(f, Default::default()).unwrap();
        std::hint::black_box(&r);
    }
}
