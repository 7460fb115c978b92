//! A sample of the slots, scattered evenly, from which shares of all slots are estimated.
//!
//! If there are many slots, fifteen of sixteen come and go without a write to a count that all
//! threads share.
//!
//! What it does not do: it counts nothing itself.

/// The number of slots for each slot of the sample, if there are [`MANY_SLOTS`].
const SLOTS_A_SAMPLED: u32 = 16;
/// The number of slots from which on a sample is used. A share is then exact to some hundredths.
pub(crate) const MANY_SLOTS: u32 = 1 << 14;

/// The set of slots that are in the sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    /// The number of all slots.
    slots: u32,
    /// The largest scattered number of a slot in the sample.
    most: u32,
}

impl Sample {
    pub(crate) fn of(slots: u32) -> Sample {
        Sample { slots, most: if slots < MANY_SLOTS { u32::MAX } else { u32::MAX / SLOTS_A_SAMPLED } }
    }

    /// Returns whether a slot is in the sample. Slot numbers are scattered by the golden ratio,
    /// which hits every regular pattern of slots alike (Knuth, TAOCP 6.4).
    pub(crate) fn has(self, slot: u32) -> bool {
        slot.wrapping_mul(0x9e37_79b1) <= self.most
    }

    /// Returns the number of slots in the sample.
    pub(crate) fn size(self) -> u32 {
        self.slots / self.each()
    }

    /// Returns the number of slots that each slot of the sample stands for.
    pub(crate) fn each(self) -> u32 {
        if self.most == u32::MAX { 1 } else { SLOTS_A_SAMPLED }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn few_slots_are_all_in_the_sample_and_of_many_each_sixteenth() {
        let of = |slots: u32| {
            let sample = Sample::of(slots);
            let has = (0..slots).filter(|slot| sample.has(*slot)).count() as u32;
            (sample.each(), sample.size(), has.abs_diff(sample.size()) <= sample.size() / 50)
        };
        for few in [1, 100, MANY_SLOTS - 1] {
            assert_eq!(of(few), (1, few, true));
        }
        for many in [MANY_SLOTS, MANY_SLOTS + 1, 5 * MANY_SLOTS] {
            assert_eq!(of(many), (16, many / 16, true));
        }
        assert_eq!(MANY_SLOTS, 16_384);
    }
}
