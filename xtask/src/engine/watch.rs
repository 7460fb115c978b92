//! The engine, watched: see [`watch`](crate::watch).

use pathwalk::Errno;

use super::convert::node;
use super::{Stage, tree};
use crate::cast::Actor;
use crate::outcome::Contents;
use crate::program::Settings;
use crate::watch::{Open, Watched, paths_compare};

impl Stage {
    /// Looks at the whole tree and at all open files, if the program is watched.
    pub(super) fn watch(&self, actor: Actor) -> Result<Option<Box<Watched>>, Errno> {
        if !self.settings.contains(Settings::WATCH) || !actor.may_look_as_root() {
            return Ok(None);
        }
        // In a mount with an id map, the ids count beside the capabilities.
        let eyes = self.overview.clone().with_credentials(self.processes[actor.index()].all_seeing.clone());
        let tree = tree::look(&eyes, Contents::LeftOut)?.into_iter().map(|(path, leaf)| (path, leaf.node)).collect();
        let may_tell = paths_compare(self.settings) && !self.processes[actor.index()].is_elsewhere;
        let mut watched = Watched { tree, ..Watched::default() };
        for (number, there) in self.slots.0.iter().enumerate() {
            if let Some(there) = there {
                let handle = there.file.handle();
                let path = may_tell.then(|| handle.path());
                watched.slots.insert(number as u8, Open { node: node(&handle.attributes()?), path });
            }
        }
        Ok(Some(Box::new(watched)))
    }
}
