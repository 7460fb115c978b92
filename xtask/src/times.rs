//! The times of nodes, identified by the step that wrote them.
//!
//! The clocks of two sides differ, but both sides can report the step of the program in which their
//! clock had a value. So a time that was set by hand is compared as it is, and a time of the clock
//! is compared by the step that wrote it. A missing update, a superfluous update and an update of
//! the wrong time are all found, also at the end of the program, long after the step.
//!
//! The step is determined in these ways:
//!
//! - The engine's file system gets a clock from outside ([`tick`]), which stands still during a
//!   step. If it is a directory of the host, its times are the kernel's.
//! - So does the model's.
//! - The kernel's file systems use a clock that moves some hundred times a second. Since Linux 6.13
//!   a tmpfs has multigrain times: an inode whose time of change was read gets a fine time at its
//!   next change, and from then on no inode gets an earlier one. So before each step a file of our
//!   own, on another mount, is written and its attributes are read ([`floor`](crate::kernel)):
//!   times of this step are at or above its time, and earlier times are below it. This takes 1.5 µs
//!   and no waiting.
//!
//! What always holds: steps count from 1; 0 stands for the time before the first step.
//!
//! What it does not do: it does not distinguish two writes within one step. On a kernel without
//! fine times, all times of its clock are equal.
//! fine times, all times of its clock are alike.

use pathwalk::Timestamp;

/// A time that was set, or one of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// A time that the clock wrote during this step; `None` if the step is unknown.
    Step(Option<u32>),
    /// A time that was set by hand.
    Set { seconds: i64, nanoseconds: u32 },
    /// A reading of the kernel's clock whose step has not been looked up yet.
    Reading { seconds: i64, nanoseconds: u32 },
}

/// The years 2020 to 2100. No program sets a time in this range, so such a time is a clock's.
const CLOCK: std::ops::Range<i64> = 1_577_836_800..4_102_444_800;

/// The number of steps from the beginning of these years on that [`tick`] has, in seconds: the
/// first days of 2020. The clock of the host is later than that.
const TICKS: i64 = 1 << 20;

/// Returns the value of the engine's clock during a step.
pub(crate) fn tick(step: u32) -> Timestamp {
    Timestamp { seconds: CLOCK.start + i64::from(step), nanoseconds: 0 }
}

impl Time {
    /// Returns a time of a file system of the engine, whose clock is [`tick`] or that of the host.
    pub(crate) fn of_engine(time: Timestamp) -> Time {
        match time.seconds - CLOCK.start {
            step @ 0..TICKS => Time::Step(u32::try_from(step).ok()),
            _ => Time::of_kernel(time.seconds, time.nanoseconds),
        }
    }

    /// Returns a time of one of the kernel's file systems.
    pub(crate) fn of_kernel(seconds: i64, nanoseconds: u32) -> Time {
        if CLOCK.contains(&seconds) { Time::Reading { seconds, nanoseconds } } else { Time::set(seconds, nanoseconds) }
    }

    /// Returns a time that was set, as the engine stores it: a time beyond either end of the
    /// engine's range becomes that end, without nanoseconds. The kernel's tmpfs does the same at
    /// the ends of its own, wider range.
    pub(crate) fn set(seconds: i64, nanoseconds: u32) -> Time {
        let time = Timestamp { seconds, nanoseconds };
        let Timestamp { seconds, nanoseconds } = match seconds {
            _ if seconds <= Timestamp::MIN.seconds => Timestamp::MIN,
            _ if seconds >= Timestamp::MAX.seconds => Timestamp::MAX,
            _ => time,
        };
        Time::Set { seconds, nanoseconds }
    }

    /// Looks up the step of a reading. `floors` has the clock's value at the beginning of each
    /// step, or is `None` where steps cannot be distinguished.
    pub(crate) fn look_up(&mut self, floors: Option<&[(i64, u32)]>) {
        if let Time::Reading { seconds, nanoseconds } = *self {
            let step = |floors: &[(i64, u32)]| floors.partition_point(|floor| *floor <= (seconds, nanoseconds)) as u32;
            *self = Time::Step(floors.map(step));
        }
    }

    /// Drops the step in which the clock wrote the time.
    pub(crate) fn forget_step(&mut self) {
        if let Time::Step(step) = self {
            *step = None;
        }
    }

    /// Returns whether both times are equal, as far as their steps are known.
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
        assert!(untold.agrees(Time::of_engine(tick(7))) && !untold.agrees(Time::set(0, 0)));
        assert!(!Time::of_engine(tick(7)).agrees(Time::of_engine(tick(6))));
    }

    #[test]
    fn what_was_set_is_compared_as_it_is_kept() {
        assert_eq!(Time::of_kernel(i64::MAX, 1), Time::of_engine(Timestamp::MAX));
        assert_ne!(Time::of_kernel(1 << 48, 1), Time::of_kernel(1 << 48, 2));
    }
}
