//! Messages between the caller and the processes inside, with descriptors.
//!
//! A message is one packet of a socket pair. What comes from inside is checked: a message that is
//! none ends the channel, as its end does.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};

/// The most bytes of a message.
const MOST: usize = 16 << 10;

/// A message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// To the inner process: what to do, in a file that comes with it.
    Plan,
    /// From it: it has its namespaces, and waits for its ids.
    Unshared,
    /// To it: it has its ids.
    Mapped,
    /// From it: the device by which it mounted, which comes with it.
    Device,
    /// From it: it waits for the mount of the branch. To it: that mount, which comes with it.
    Mount,
    /// From it: the first process, by a descriptor that comes with it.
    First,
    /// From the first process: the command was stopped.
    Stopped,
    /// From it: the command has ended, and where it has left its standard input.
    Ended(Status, Option<u64>),
    /// From either: a step failed.
    Failed(String),
}

/// The end of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Status {
    Exited(u8),
    Killed(i32),
    NotRun(i32),
}

/// One end of the channel.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// Makes both ends.
    pub(crate) fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (own, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Channel(own), theirs))
    }

    pub(crate) fn of(end: OwnedFd) -> Channel {
        Channel(end)
    }

    pub(crate) fn send(&self, message: &Message, with: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let bytes = postcard::to_stdvec(message).map_err(|_| io::Errno::INVAL)?;
        let bytes = &bytes[..bytes.len().min(MOST)];
        let descriptors = with.as_slice();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if with.is_some() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
    }

    /// Waits for a message; `None` at the end of the channel.
    pub(crate) fn receive(&self) -> Option<(Message, Option<OwnedFd>)> {
        let mut bytes = vec![0; MOST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(io::Errno::INTR) => {}
                received => break received.ok()?,
            }
        };
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let descriptor = descriptors.flatten().next();
        let message = postcard::from_bytes(&bytes[..received.bytes]).ok()?;
        Some((message, descriptor))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_with_their_descriptors() {
        let (one, other) = Channel::pair().unwrap();
        let other = Channel::of(other);
        one.send(&Message::Device, Some(one.as_fd())).unwrap();
        one.send(&Message::Failed("why".into()), None).unwrap();
        assert!(matches!(other.receive(), Some((Message::Device, Some(_)))));
        assert!(matches!(other.receive(), Some((Message::Failed(why), None)) if why == "why"));
        rustix::io::write(&one.0, &[250; 3]).unwrap();
        assert!(other.receive().is_none(), "no message");
        drop(one);
        assert!(other.receive().is_none());
    }
}
