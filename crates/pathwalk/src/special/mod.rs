//! Special files: named pipes, sockets and devices, which have more behind them than a file
//! system.
//!
//! - [`buffer`]: the data in a pipe; [`pipe`]: its ends, and the waits for them; [`pipes`]: the
//!   pipe of each open node;
//! - [`endpoints`]: what is bound to sockets;
//! - [`driver`]: what opens devices; [`words`]: how a node is named, and how an open waits.
//!
//! What always holds: a node is known by its file system and its key, so all names, links and
//! mounts of it lead to the same pipe or endpoint. The caller has a pin on the node for as long as
//! it has something of it open or bound, so its key belongs to no other node meanwhile. No file
//! system is called here, and none of the locks here is held over a call of a driver, of an
//! observer, or of the drop of an endpoint.
//!
//! What it does not do: signals (a write without readers is `EPIPE`, and no `SIGPIPE`), packets
//! (`O_DIRECT`), `splice(2)`, and a capacity other than 65,536 bytes.

mod buffer;
pub(crate) mod driver;
pub(crate) mod endpoints;
mod pipe;
pub(crate) mod pipes;
pub(crate) mod words;

use std::sync::Arc;

use driver::Drivers;
use endpoints::Endpoints;
use pipes::Pipes;

/// What is behind the special files of a `Vfs`.
pub(crate) struct Specials {
    pub(crate) pipes: Arc<Pipes>,
    pub(crate) endpoints: Endpoints,
    pub(crate) drivers: Drivers,
}

impl Specials {
    pub(crate) fn new(drivers: Drivers) -> Specials {
        Specials { pipes: Arc::new(Pipes::default()), endpoints: Endpoints::default(), drivers }
    }
}
