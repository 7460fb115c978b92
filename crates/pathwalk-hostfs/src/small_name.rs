//! A name in 24 bytes: up to 22 bytes in place, longer ones on the heap.
//!
//! Nine names in ten are short. An allocation for each of them would take more memory than the
//! name.

const IN_PLACE: usize = 22;

/// A name. It is empty for the root, which has none.
#[derive(Clone, Debug)]
pub(crate) enum SmallName {
    InPlace { length: u8, bytes: [u8; IN_PLACE] },
    Heap(Box<[u8]>),
}

const _: () = assert!(size_of::<SmallName>() == 24);

impl SmallName {
    pub(crate) fn new(name: &[u8]) -> SmallName {
        if name.len() > IN_PLACE {
            return SmallName::Heap(name.into());
        }
        let mut bytes = [0; IN_PLACE];
        bytes[..name.len()].copy_from_slice(name);
        SmallName::InPlace { length: name.len() as u8, bytes }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            SmallName::InPlace { length, bytes } => &bytes[..usize::from(*length)],
            SmallName::Heap(bytes) => bytes,
        }
    }

    /// Returns the number of bytes on the heap, for an allocator that hands out multiples of 16 and
    /// keeps a word beside each.
    pub(crate) fn heap(&self) -> u64 {
        match self {
            SmallName::InPlace { .. } => 0,
            SmallName::Heap(bytes) => (bytes.len() as u64 + 8).next_multiple_of(16).max(32),
        }
    }
}

impl Default for SmallName {
    fn default() -> Self {
        SmallName::new(b"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_at_every_length() {
        for length in 0..=255 {
            let name: Vec<u8> = (0..length).map(|i| i as u8 | 0x80).collect();
            assert_eq!(SmallName::new(&name).bytes(), name);
            assert_eq!(SmallName::new(&name).heap() == 0, length <= IN_PLACE);
        }
    }
}
