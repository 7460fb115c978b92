//! One look at a directory confirms all its names: they are what they were as long as the directory
//! has the same time of its last change.
//!
//! A change within one tick of the clock may leave the time as it was: kernels before 6.13 stamp
//! with the last tick, some milliseconds ago. So a time is trusted only if it lay further in the
//! past than a tick when it was read (as Git does with files that are *racily clean*). Then each
//! later change gives the directory another time.
//!
//! A pass marks names, and the ones that it marks for the first time were asked for, or confirmed,
//! after the pass before it. (The others are looked up.) A question may come while the next pass
//! has begun and has not come to the directory. So a directory that had one time since before the
//! pass before the last one still has the names that the caches have. A directory that is handed
//! out, and was not before, has no older names.
//!
//! A mount changes no time of the directory that it is in, so a change of mounts counts as a change
//! of each directory. On file systems whose directories change without a new time, nothing is
//! confirmed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use pathwalk::{Attributes, NodeKey, Timestamp};

use super::Passes;

/// The time within which two changes may get the same stamp: two ticks of the slowest clock.
const GRAIN: Duration = Duration::from_millis(20);

/// The time at which a directory was changed last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    changed: Timestamp,
    /// Whether each later change has another time.
    is_trusted: bool,
}

impl Stamp {
    /// Returns the stamp of a directory whose attributes were read after `now`.
    pub(crate) fn new(of: &Attributes, now: SystemTime) -> Stamp {
        let since_epoch = now.checked_sub(GRAIN).and_then(|then| then.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let before = (since_epoch.as_secs() as i64, since_epoch.subsec_nanos());
        Stamp { changed: of.ctime, is_trusted: (of.ctime.seconds, of.ctime.nanoseconds) < before }
    }

    /// Returns the stamp as one that nothing is confirmed by.
    pub(crate) fn untrusted(self) -> Stamp {
        Stamp { is_trusted: false, ..self }
    }
}

/// What is known of a directory.
#[derive(Clone, Copy)]
struct Seen {
    stamp: Stamp,
    /// The time from which on it has had the stamp; `None` if it has no older names.
    since: Option<Instant>,
    /// The time at which this was noted.
    noted: Instant,
    /// A time before it was looked at last; `None` if it was not since it was noted as new.
    looked: Option<Instant>,
}

impl Seen {
    /// Returns whether the names that a pass marked hold: if the directory was looked at since the
    /// pass began, and neither it nor a mount has changed since before the pass before the last.
    fn confirms(&self, passes: &Passes, mounted: Instant) -> bool {
        let since = if mounted > self.noted { Some(mounted) } else { self.since };
        let was_looked_at = self.looked.is_some_and(|looked| looked >= passes[0]);
        self.stamp.is_trusted && was_looked_at && since.is_none_or(|since| since < passes[2])
    }
}

/// The directories that were looked at, or handed out.
pub(super) struct Looks {
    seen: Mutex<HashMap<NodeKey, Seen>>,
    /// The counts. Relaxed: they order nothing.
    looks: AtomicU64,
    confirmed: AtomicU64,
}

impl Looks {
    pub(super) fn new() -> Looks {
        Looks { seen: Mutex::default(), looks: AtomicU64::new(0), confirmed: AtomicU64::new(0) }
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        (self.looks.load(Ordering::Relaxed), self.confirmed.load(Ordering::Relaxed))
    }

    pub(super) fn is_new(&self, dir: NodeKey, stamp: Stamp) {
        let seen = Seen { stamp, since: None, noted: Instant::now(), looked: None };
        self.seen.lock().insert(dir, seen);
    }

    pub(super) fn forget(&self, dir: NodeKey) {
        self.seen.lock().remove(&dir);
    }

    pub(super) fn confirms(&self, dir: NodeKey, passes: &Passes, mounted: Instant, look: impl FnOnce() -> Option<Stamp>) -> bool {
        let known = self.seen.lock().get(&dir).copied();
        let seen = match known.filter(|seen| seen.looked.is_some_and(|looked| looked >= passes[0])) {
            Some(seen) => seen,
            None => self.look(dir, look),
        };
        let holds = seen.confirms(passes, mounted);
        self.confirmed.fetch_add(u64::from(holds), Ordering::Relaxed);
        holds
    }

    /// Looks at a directory, with no lock held meanwhile.
    fn look(&self, dir: NodeKey, look: impl FnOnce() -> Option<Stamp>) -> Seen {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let before = Instant::now();
        let stamp = look();
        let after = Instant::now();
        let unknown = Stamp { changed: Timestamp::default(), is_trusted: false };
        let fresh = Seen { stamp: stamp.unwrap_or(unknown), since: Some(after), noted: after, looked: Some(before) };
        let mut all = self.seen.lock();
        let seen = match all.get(&dir) {
            Some(seen) if Some(seen.stamp) == stamp && seen.stamp.is_trusted => Seen { looked: Some(before), ..*seen },
            _ => fresh,
        };
        all.insert(dir, seen);
        seen
    }

    pub(super) fn memory(&self) -> u64 {
        (self.seen.lock().capacity() * (size_of::<(NodeKey, Seen)>() + 1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathwalk::FileType;

    const DIR: NodeKey = NodeKey(7);

    fn changed(seconds: i64, is_trusted: bool) -> Option<Stamp> {
        Some(Stamp { changed: Timestamp { seconds, nanoseconds: 0 }, is_trusted })
    }

    /// Returns the beginnings of passes of which one begins now, `apart` after the one before it.
    fn pass(before: &mut Passes) -> Passes {
        std::thread::sleep(Duration::from_millis(2));
        *before = [Instant::now(), before[0], before[1]];
        std::thread::sleep(Duration::from_millis(2));
        *before
    }

    #[test]
    fn a_time_within_a_tick_is_not_trusted() {
        let now = UNIX_EPOCH + Duration::from_millis(10_000);
        let of = |milliseconds: u64| {
            let mut of = Attributes::new(FileType::Directory, 0o755);
            of.ctime = Timestamp { seconds: (milliseconds / 1000) as i64, nanoseconds: (milliseconds % 1000 * 1_000_000) as u32 };
            Stamp::new(&of, now).is_trusted
        };
        assert_eq!([9_979, 9_980, 9_999, 10_001].map(of), [true, false, false, false]);
        assert!(!Stamp::new(&Attributes::new(FileType::Directory, 0), UNIX_EPOCH).is_trusted);
    }

    #[test]
    fn a_directory_that_is_new_is_confirmed_at_once_and_a_changed_one_later() {
        let (looks, mut passes) = (Looks::new(), [Instant::now(); 3]);
        let mounted = passes[0];
        looks.is_new(DIR, changed(1, true).unwrap());
        assert!(looks.confirms(DIR, &pass(&mut passes), mounted, || changed(1, true)));
        assert!(looks.confirms(DIR, &passes, mounted, || unreachable!("it was looked at in this pass")));
        // It changed. Its older names were asked for before the pass before the next one.
        assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(2, true)));
        assert!(!looks.confirms(DIR, &passes, mounted, || unreachable!()));
        (0..2).for_each(|_| assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(2, true))));
        assert!(looks.confirms(DIR, &pass(&mut passes), mounted, || changed(2, true)));
        // A time that may stay the same, and none.
        assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(3, false)));
        for _ in 0..3 {
            assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(3, false)));
        }
        assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || None));
        assert_eq!(looks.counts(), (10, 3));
    }

    #[test]
    fn a_change_of_mounts_counts_for_each_directory() {
        let (looks, mut passes) = (Looks::new(), [Instant::now(); 3]);
        let mounted = passes[0];
        looks.is_new(DIR, changed(1, true).unwrap());
        assert!(looks.confirms(DIR, &pass(&mut passes), mounted, || changed(1, true)));
        let mounted = pass(&mut passes)[0];
        assert!(!looks.confirms(DIR, &passes, mounted, || changed(1, true)));
        (0..2).for_each(|_| assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(1, true))));
        assert!(looks.confirms(DIR, &pass(&mut passes), mounted, || changed(1, true)));
        looks.forget(DIR);
        assert!(!looks.confirms(DIR, &pass(&mut passes), mounted, || changed(1, true)), "its names may be older");
    }
}
