//! The stamps of nodes of the base that a commit which was not made has touched.
//!
//! What always holds: one is removed only once there are no branches, since a stamp does not say
//! whose it is.

use pathwalk::Errno;

use super::Stored;
use super::table::OF_RESTORED;
use crate::restored::KeepStamps;
use crate::stamp::Stamp;
use crate::store::{Applied, Batch};

impl KeepStamps for Stored {
    fn keep(&self, pairs: &[(Stamp, Stamp)]) -> Result<(), Errno> {
        let mut batch = Batch::default();
        for (Stamp(now), Stamp(before)) in pairs {
            batch.put(&[OF_RESTORED, &now.to_be_bytes()].concat(), &before.to_be_bytes());
        }
        // It has no checks.
        match self.store.apply(&batch)? {
            Applied::Done => Ok(()),
            Applied::Refused => Err(Errno::EIO),
        }
    }

    fn each(&self, each: &mut dyn FnMut(Stamp, Stamp)) -> Result<(), Errno> {
        let stamp = |bytes: &[u8]| bytes.try_into().map(|bytes| Stamp(u128::from_be_bytes(bytes))).map_err(|_| Errno::EIO);
        self.store.snapshot()?.scan(OF_RESTORED, &mut |key, value| {
            each(stamp(&key[OF_RESTORED.len()..])?, stamp(value)?);
            Ok(())
        })
    }
}
