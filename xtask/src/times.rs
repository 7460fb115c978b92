//! Times, told by the step that wrote them.
//!
//! The clocks of two sides are not the same, but both can say which step of the program a reading
//! of their clock falls into. So a time is either one that was set by hand, and compared as it is,
//! or it is compared by the step that wrote it: an update that is missing, one too many, and one of
//! another time are all seen, also at the end of the program, when the step is long gone.
//!
//! How a side tells the step:
//!
//! - The engine's file system has a clock that is given to it ([`tick`]): it stands still during a
//!   step.
//! - So does the model's.
//! - The kernel's file systems go by a clock that moves some hundred times a second. Since Linux
//!   6.13 those of a tmpfs are of several grains: an inode whose time of change was asked for gets
//!   a fine time at its next change, and no inode gets an earlier one from then on. So before each
//!   step a file of our own, on another mount, is written and asked about
//!   ([`floor`](crate::kernel)): what is stamped in the step is at or above that, and what was
//!   stamped before is below it. This takes 1.5 µs and no waiting.
//!
//! What always holds: steps count from 1; 0 is what was there before the first.
//!
//! What it does not do: it does not tell two writes within one step apart. Where a kernel has no
//! fine times, all times of its clock are alike.

use pathwalk::Timestamp;

/// A time that was set, or one of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// Written by the clock during this step, where that is known.
    Step(Option<u32>),
    /// Set by hand.
    Set { seconds: i64, nanoseconds: u32 },
    /// A reading of the kernel's clock, of which the step is not looked up yet.
    Reading { seconds: i64, nanoseconds: u32 },
}

/// The years 2020 to 2100, in which no program sets a time: it must be a clock's.
const CLOCK: std::ops::Range<i64> = 1_577_836_800..4_102_444_800;

/// Returns what the engine's clock says during a step.
pub(crate) fn tick(step: u32) -> Timestamp {
    Timestamp { seconds: CLOCK.start + i64::from(step), nanoseconds: 0 }
}

impl Time {
    /// Returns a time of a file system whose clock is [`tick`].
    pub(crate) fn of_ticks(time: Timestamp) -> Time {
        if CLOCK.contains(&time.seconds) {
            return Time::Step(u32::try_from(time.seconds - CLOCK.start).ok());
        }
        Time::set(time.seconds, time.nanoseconds)
    }

    /// Returns a time of the kernel's.
    pub(crate) fn of_kernel(seconds: i64, nanoseconds: u32) -> Time {
        if CLOCK.contains(&seconds) { Time::Reading { seconds, nanoseconds } } else { Time::set(seconds, nanoseconds) }
    }

    /// Returns one that was set, as the engine keeps it: beyond either end of what it keeps it is
    /// that end, without nanoseconds. The kernel's tmpfs does the same at the ends of its own
    /// range, which is wider.
    pub(crate) fn set(seconds: i64, nanoseconds: u32) -> Time {
        let time = Timestamp { seconds, nanoseconds };
        let Timestamp { seconds, nanoseconds } = match seconds {
            _ if seconds <= Timestamp::MIN.seconds => Timestamp::MIN,
            _ if seconds >= Timestamp::MAX.seconds => Timestamp::MAX,
            _ => time,
        };
        Time::Set { seconds, nanoseconds }
    }

    /// Looks up the step of a reading: `floors` are the clock's at the beginning of each, or none
    /// where they cannot be told apart.
    pub(crate) fn look_up(&mut self, floors: Option<&[(i64, u32)]>) {
        if let Time::Reading { seconds, nanoseconds } = *self {
            let step = |floors: &[(i64, u32)]| floors.partition_point(|floor| *floor <= (seconds, nanoseconds)) as u32;
            *self = Time::Step(floors.map(step));
        }
    }

    /// Leaves open in which step the clock wrote it.
    pub(crate) fn forget_step(&mut self) {
        if let Time::Step(step) = self {
            *step = None;
        }
    }

    /// Tells whether both are one, as far as it is known.
    pub(crate) fn agrees(self, other: Time) -> bool {
        match (self, other) {
            (Time::Step(None), Time::Step(_)) | (Time::Step(_), Time::Step(None)) => true,
            (left, right) => left == right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_fall_into_steps() {
        let floors = [(CLOCK.start, 5), (CLOCK.start, 9), (CLOCK.start + 1, 0)];
        for (nanoseconds, step) in [(0, 0), (4, 0), (5, 1), (8, 1), (9, 2), (999, 2)] {
            let mut time = Time::of_kernel(CLOCK.start, nanoseconds);
            time.look_up(Some(&floors));
            assert_eq!(time, Time::Step(Some(step)), "{nanoseconds}");
        }
        let mut untold = Time::of_kernel(CLOCK.start, 0);
        untold.look_up(None);
        assert!(untold.agrees(Time::of_ticks(tick(7))) && !untold.agrees(Time::set(0, 0)));
        assert!(!Time::of_ticks(tick(7)).agrees(Time::of_ticks(tick(6))));
    }

    #[test]
    fn what_was_set_is_compared_as_it_is_kept() {
        assert_eq!(Time::of_kernel(i64::MAX, 1), Time::of_ticks(Timestamp::MAX));
        assert_ne!(Time::of_kernel(1 << 48, 1), Time::of_kernel(1 << 48, 2));
    }
}
