//! What the arithmetic allows.

/// Costs of an operation, in nanoseconds, measured in the same round and at the same depth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Sending to a worker and back.
    pub hop: f64,
    /// An open that the cache answers, where it is submitted.
    pub hit: f64,
    /// A try that fails.
    pub failed_try: f64,
    /// What an open of a file that is not cached takes beyond a hit: the file system's part.
    pub miss: f64,
}

impl Costs {
    /// How many times as fast trying the cache first can be, where a share `misses` is not cached.
    pub fn bound(&self, misses: f64) -> f64 {
        let Costs { hop, hit, failed_try, miss } = *self;
        (hop + hit + misses * miss) / ((1.0 - misses) * hit + misses * (failed_try + hop + miss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_missing_the_more_it_brings() {
        let costs = Costs { hop: 10.0, hit: 1.0, failed_try: 1.0, miss: 20.0 };
        assert_eq!(costs.bound(0.0), 11.0);
        assert_eq!(costs.bound(1.0), 1.0);
        assert!((costs.bound(0.5) - 21.0 / 16.0).abs() < 1e-12);
    }
}
