//! The upper bound of the speedup, computed from the costs.

/// The costs of an operation, in nanoseconds, measured in the same round and at the same depth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// The way to a worker and back.
    pub hop: f64,
    /// An open that the cache answers, at its submission.
    pub hit: f64,
    /// A try that fails.
    pub failed_try: f64,
    /// The time that an open of a file that is not cached takes beyond a hit: the file system's
    /// part.
    pub miss: f64,
}

impl Costs {
    /// Returns the largest possible speedup from trying the cache first, where a share `misses` of
    /// the files is not cached.
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
