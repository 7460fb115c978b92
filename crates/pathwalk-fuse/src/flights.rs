//! The requests that are served, so that they can be interrupted.
//!
//! Each thread that serves has a place here. The kernel interrupts a request by its number; what
//! waits in the engine, or in a file system that looks at [`Cancellation::current`], ends then.
//! A request that was interrupted and comes to an end all the same is answered as if it was not.

use std::sync::Arc;

use parking_lot::Mutex;
use pathwalk::Cancellation;

/// The request that one thread serves: its number, or 0.
#[derive(Default)]
struct Flight {
    unique: u64,
    cancellation: Cancellation,
}

/// The place of one thread.
pub(crate) struct Place(Arc<Mutex<Flight>>);

/// The places of all threads.
#[derive(Default)]
pub(crate) struct Flights(Mutex<Vec<Arc<Mutex<Flight>>>>);

impl Flights {
    /// Adds a thread.
    pub(crate) fn enter(&self) -> Place {
        let place = Arc::<Mutex<Flight>>::default();
        self.0.lock().push(Arc::clone(&place));
        Place(place)
    }

    /// Takes a thread out.
    pub(crate) fn leave(&self, place: &Place) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, &place.0));
    }

    /// Interrupts a request. Returns false if no thread serves it now.
    pub(crate) fn interrupt(&self, unique: u64) -> bool {
        let places = self.0.lock();
        places.iter().any(|place| {
            let flight = place.lock();
            let is_it = flight.unique == unique;
            if is_it {
                flight.cancellation.cancel();
            }
            is_it
        })
    }
}

impl Place {
    /// Serves a request, which can be interrupted meanwhile. Returns whether it was, too.
    pub(crate) fn during<T>(&self, unique: u64, serve: impl FnOnce() -> T) -> (T, bool) {
        struct Landed<'a>(&'a Place);
        impl Drop for Landed<'_> {
            fn drop(&mut self) {
                self.0.0.lock().unique = 0;
            }
        }
        let cancellation = {
            let mut flight = self.0.lock();
            flight.unique = unique;
            if flight.cancellation.is_cancelled() {
                flight.cancellation = Cancellation::new();
            }
            flight.cancellation.clone()
        };
        let landed = Landed(self);
        let served = cancellation.during(serve);
        drop(landed);
        (served, cancellation.is_cancelled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_reaches_its_request_and_no_other() {
        let flights = Flights::default();
        let (one, other) = (flights.enter(), flights.enter());
        assert!(!flights.interrupt(7));
        let is_cancelled = || Cancellation::current().unwrap().is_cancelled();
        let ((mine, of_other), was_interrupted) = one.during(7, || {
            let (of_other, _) = other.during(9, || {
                assert!(flights.interrupt(7) && !flights.interrupt(8));
                is_cancelled()
            });
            (is_cancelled(), of_other)
        });
        assert_eq!((mine, of_other, was_interrupted), (true, false, true));
        assert_eq!(one.during(11, is_cancelled), (false, false));
        flights.leave(&one);
        assert!(!other.during(13, || flights.interrupt(7)).0);
    }
}
