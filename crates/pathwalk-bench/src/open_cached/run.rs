//! The run: rounds in which both ways, the costs and the peers take turns.

use hdrhistogram::Histogram;
use pathwalk_ring::Ring;

use super::bound::Costs;
use super::drive::{self, Clock, Failure, Way};
use super::peers::Peers;
use super::place::{Place, Target};
use super::processors::Processors;
use super::{LINUX, Latency, Plan, Report, Row, world};
use crate::machine::SetUpError;
use crate::rounds::Quartiles;

/// The number of hops that are timed before each batch, or eight times the number in flight if that
/// is more.
const HOPS: usize = 256;

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Error {
    /// An error of preparing the bench.
    SetUp(#[from] SetUpError),
    /// A failed batch.
    Batch(#[from] Failure),
}

/// The measurements for one share of hits at one depth, round by round.
struct Case {
    hit: u32,
    depth: u32,
    /// The nanoseconds of a batch, for each of [`Way::BOTH`].
    batches: [Vec<f64>; 2],
    costs: Vec<Costs>,
    single: [Histogram<u64>; 2],
}

/// The state that all cases share.
struct Bench<'a> {
    plan: &'a Plan,
    place: Place,
    hot: Vec<Target>,
    random: fastrand::Rng,
    processors: Processors,
    notes: Vec<String>,
}

/// Makes the files, measures, and removes them. `step` is called for each of [`Plan::steps`].
pub fn run(plan: &Plan, step: &mut dyn FnMut()) -> Result<Report, Error> {
    let most = plan.hits.iter().map(|hit| misses(plan, *hit)).max().unwrap_or(0);
    let place = Place::make(&plan.dir, most.max(plan.opens / 4))?;
    let hot = place.hot();
    let (random, processors) = (fastrand::Rng::with_seed(7), Processors::take());
    let mut bench = Bench { plan, place, hot, random, processors, notes: Vec::new() };
    if !bench.processors.are_two() {
        bench.note("submitter and worker share a processor".into());
    }
    let mut cases: Vec<Case> = plan.depths.iter().flat_map(|depth| plan.hits.iter().map(|hit| Case::new(*hit, *depth))).collect();
    let mut peers = Peers::new();
    for round in 0..plan.rounds {
        for (depth, cases) in plan.depths.iter().zip(cases.chunks_mut(plan.hits.len().max(1))) {
            for case in cases {
                bench.turn(case, round)?;
                step();
            }
            let cold = bench.cold(plan.opens / 4);
            let Bench { place, hot, processors, .. } = &bench;
            let context = world::context(place, plan, hot)?;
            peers.turn(*depth, place, processors, context, hot, &cold)?;
            step();
        }
    }
    let rows = cases.iter().map(Case::row).collect();
    let (peers, of_peers) = peers.rows();
    let mut notes = bench.notes;
    notes.extend(of_peers);
    let holds_descriptor = world::holds_descriptor(plan.descriptors);
    Ok(Report { file_system: bench.place.file_system(), holds_descriptor, rows, peers, notes })
}

fn misses(plan: &Plan, hit: u32) -> usize {
    plan.opens - plan.opens * hit.min(100) as usize / 100
}

impl Bench<'_> {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn cold(&mut self, count: usize) -> Vec<Target> {
        self.place.cold(count, &mut self.random)
    }

    /// Returns a ring over a `Vfs` that has only the hot files cached, with a worker that is awake.
    /// If there will be misses, drops the kernel's caches. Also returns the nanoseconds that the
    /// way to that worker and back takes now.
    fn ready(&mut self, depth: usize, misses: usize) -> Result<(Ring, f64), Error> {
        if misses > 0
            && let Err(error) = self.place.cool()
        {
            self.note(format!(
                "the kernel's caches were warm, only those of pathwalk were cold: writing \"/proc/sys/vm/drop_caches\", which takes root: {error}"
            ));
        }
        let mut ring = world::ring(world::context(&self.place, self.plan, &self.hot)?, depth, &self.processors)?;
        let hops = HOPS.max(8 * depth);
        let time = drive::hops(&mut ring, hops, depth)?;
        Ok((ring, world::each(time, hops)))
    }

    /// Runs one round of a case: both ways, each first in every other round; the costs; and both
    /// ways again with a clock for each open.
    fn turn(&mut self, case: &mut Case, round: u32) -> Result<(), Error> {
        let (plan, depth) = (self.plan, case.depth as usize);
        let cold = self.cold(misses(plan, case.hit));
        // These are not the bench's own targets, because those cannot be borrowed for that long.
        let hot = self.place.hot();
        let mut targets: Vec<&Target> = hot.iter().cycle().take(plan.opens - cold.len()).chain(&cold).collect();
        self.random.shuffle(&mut targets);
        let mut order = [0, 1];
        order.rotate_left(round as usize % 2);
        let mut hop = 0.0;
        for way in order {
            let (mut ring, hop_now) = self.ready(depth, cold.len())?;
            let time = drive::opens(&mut ring, &targets, Way::BOTH[way], depth, None)?;
            case.batches[way].push(time.as_nanos() as f64);
            hop += hop_now / 2.0;
        }
        let all_hot: Vec<&Target> = hot.iter().cycle().take(plan.opens).collect();
        let cold: Vec<&Target> = cold.iter().collect();
        case.costs.push(self.costs(depth, hop, &all_hot, &cold)?);
        for way in order {
            let (mut ring, _) = self.ready(depth, cold.len())?;
            let clock = Clock::new(&mut case.single[way]);
            drive::opens(&mut ring, &targets, Way::BOTH[way], depth, Some(clock))?;
        }
        Ok(())
    }

    fn costs(&mut self, depth: usize, hop: f64, hot: &[&Target], cold: &[&Target]) -> Result<Costs, Error> {
        let (mut ring, _) = self.ready(depth, cold.len())?;
        let hit = world::each(drive::opens(&mut ring, hot, Way::CachedFirst, depth, None)?, hot.len());
        let failed_try = world::tries(ring.context(), cold)?;
        let miss = if cold.is_empty() { 0.0 } else { (world::waits(ring.context(), cold)? - hit).max(0.0) };
        Ok(Costs { hop, hit, failed_try, miss })
    }
}

impl Case {
    fn new(hit: u32, depth: u32) -> Case {
        // The histogram records three digits, and times of any length.
        let histogram = || Histogram::new(3).expect("three digits are allowed");
        Case { hit, depth, batches: Default::default(), costs: Vec::new(), single: [histogram(), histogram()] }
    }

    fn row(&self) -> Row {
        let misses = 1.0 - f64::from(self.hit) / 100.0;
        let speedups: Vec<f64> = self.batches[0].iter().zip(&self.batches[1]).map(|(punt, first)| punt / first).collect();
        let bounds: Vec<f64> = self.costs.iter().map(|costs| costs.bound(misses)).collect();
        let shares = speedups.iter().zip(&bounds).map(|(speedup, bound)| speedup / bound).collect();
        let [always_punt, cached_first] = self.batches.clone().map(Quartiles::of);
        let median = |cost: fn(&Costs) -> f64| Quartiles::of(self.costs.iter().map(cost).collect()).median;
        let costs = Costs {
            hop: median(|costs| costs.hop),
            hit: median(|costs| costs.hit),
            failed_try: median(|costs| costs.failed_try),
            miss: median(|costs| costs.miss),
        };
        let single = [0, 1].map(|way| Latency::of(&self.single[way]));
        let linux = LINUX.iter().find(|(hit, _)| *hit == self.hit).map(|(_, times)| *times);
        let (speedup, bound, of_bound) = (Quartiles::of(speedups), Quartiles::of(bounds), Quartiles::of(shares));
        Row { hit: self.hit, depth: self.depth, always_punt, cached_first, speedup, bound, of_bound, costs, single, linux }
    }
}

impl Latency {
    fn of(took: &Histogram<u64>) -> Latency {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| took.value_at_quantile(share));
        Latency { p50, p99, p999 }
    }
}
