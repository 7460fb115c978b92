//! Permission bits as a number, or as the standard library has them.
//!
//! What it does not do: it takes no mode as text.

/// The permission bits of a file: a number, or [`Permissions`](std::fs::Permissions), whose type is
/// ignored. [`Context::set_permissions`](crate::Context::set_permissions) has an example.
pub trait AsMode {
    /// Returns the bits, with suid, sgid and sticky: 0..=0o7777.
    fn mode_bits(&self) -> u16;
}

impl AsMode for u16 {
    fn mode_bits(&self) -> u16 {
        self & 0o7777
    }
}

#[cfg(unix)]
impl AsMode for std::fs::Permissions {
    fn mode_bits(&self) -> u16 {
        (std::os::unix::fs::PermissionsExt::mode(self) & 0o7777) as u16
    }
}
