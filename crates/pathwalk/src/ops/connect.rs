//! `bind(2)` and `connect(2)` of sockets with paths.
//!
//! Source: `unix_bind_bsd` and `unix_find_bsd` of Linux.

use std::any::Any;
use std::sync::Arc;

use super::lookup;
use super::make::make_node;
use super::may_change::may_write;
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::FileType;
use crate::cache::icache::inode::key_of;
use crate::mount::{PinnedPlace, Place, World};
use crate::node::NewKind;
use crate::permission::Access;
use crate::special::endpoints::Endpoint;
use crate::special::words::SpecialNode;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

/// The permission bits of a socket, before the umask.
const MODE: u16 = 0o777;

/// Makes a socket and binds an endpoint to it. `EADDRINUSE` if the name is taken.
pub(crate) fn bind<'a>(asker: &'a Asker, at: Begin, path: &'a [u8], endpoint: Endpoint) -> Result<PinnedPlace<'a>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    // The umask applies here, and so also where a default list would take its place.
    let node = make_node(&env, at, path, NewKind::Socket, MODE & !asker.umask).map_err(|errno| match errno {
        Errno::EEXIST => Errno::EADDRINUSE,
        other => other,
    })?;
    env.world.special.endpoints.bind(special_node(env.world, node.place()), endpoint);
    Ok(node)
}

/// Returns the endpoint that is bound to the socket at a path, and notes the access. `ECONNREFUSED`
/// if there is none, or the node is no socket; `EPROTOTYPE` if it is of another type.
pub(crate) fn connect<T: Any + Send + Sync>(asker: &Asker, at: Begin, path: &[u8], flags: AtFlags) -> Result<Arc<T>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, flags)?;
    let of = env.trees().known_snapshot(env.caches().dentries.inode(node.id()))?;
    if env.world.mounts.switches(node.mount.id()).refuse_writing_to(of.kind()) {
        return Err(Errno::EROFS);
    }
    may_write(&env, &env.who_in(node.mount.id()), node.id(), Access::WRITE)?;
    if of.kind() != FileType::Socket {
        return Err(Errno::ECONNREFUSED);
    }
    let endpoint = env.world.special.endpoints.find(special_node(env.world, node.place()))?;
    let endpoint = endpoint.downcast().map_err(|_| Errno::EPROTOTYPE)?;
    env.world.accessed(node.place());
    Ok(endpoint)
}

/// Returns the node by which the endpoint of a place is found, which is pinned.
pub(crate) fn special_node(world: &World, place: Place) -> SpecialNode {
    let inode = world.caches().dentries.inode(place.dentry());
    (world.caches().superblock_of(inode), key_of(world.caches().inodes.record(inode)))
}
