//! The attributes that nodes get in a commit onto the base.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pathwalk::permission::AclKind;
use pathwalk::{AclState, Attributes, Errno, FileType};

use super::super::has_forbidding_flags;
use super::super::journal::{Identity, NewList, NodeChange, Setting, Where, time};
use super::Stage;
use crate::diff::{Aspects, extras};
use crate::origin::Origin;
use crate::rows::{self, Record, Row, Tag};

impl Stage<'_> {
    /// Returns all attributes of a new node, but for flags that would keep it from getting its
    /// name.
    pub(super) fn all_of(&self, number: u64, record: &Record) -> Setting {
        let of = &record.attributes;
        let is_link = record.kind() == FileType::Symlink;
        let can_set_flags = matches!(record.kind(), FileType::Regular | FileType::Directory);
        let list = |kind| self.list(number, kind);
        Setting {
            owner: Some((of.uid, of.gid)),
            mode: (!is_link).then_some(of.mode),
            access: list(AclKind::Access).filter(|_| of.acl == AclState::Present).map(Some),
            default: list(AclKind::Default).map(Some),
            xattrs: self.xattrs(number, record).into_iter().map(|(name, value)| (name, Some(value))).collect(),
            flags: (can_set_flags && !has_forbidding_flags(of) && !record.flags.is_empty()).then(|| record.flags.bits()),
            atime: Some(time(of.atime)),
            mtime: Some(time(of.mtime)),
        }
    }

    fn list(&self, number: u64, kind: AclKind) -> Option<Vec<u8>> {
        match self.plan.tree.get(&rows::acl(number, kind)) {
            Some(Row::Acl(acl)) => Some(acl.to_xattr()),
            _ => None,
        }
    }

    /// Returns the extended attributes of a node that are no lists.
    fn xattrs(&self, number: u64, record: &Record) -> BTreeMap<Vec<u8>, Vec<u8>> {
        xattrs_of(extras(self.plan.tree, number, record))
    }

    /// Returns the attributes that a node of the base gets.
    pub(super) fn new_attributes(
        &self,
        number: u64,
        record: &Record,
        origin: &Arc<Origin>,
        now: &Attributes,
        what: Aspects,
    ) -> Setting {
        let (was, is, mut new) = (Record::of_base(number, origin), &record.attributes, Setting::default());
        let before = &was.attributes;
        new.owner = ((is.uid, is.gid) != (before.uid, before.gid)).then_some((is.uid, is.gid));
        // Writes and new owners clear bits.
        let mode = if is.mode == before.mode { now.mode } else { is.mode };
        new.mode = (record.kind() != FileType::Symlink && !what.is_empty()).then_some(mode);
        if what.contains(Aspects::XATTRS) {
            let known = origin.extras.iter().map(|(key, row)| (key.to_vec(), row.clone())).collect();
            (new.xattrs, new.access, new.default) = self.new_extras(number, record, &known);
        }
        // Those that the base has are cleared while its nodes are changed.
        let has_new_flags = record.flags != was.flags || has_forbidding_flags(now);
        new.flags = has_new_flags.then(|| record.flags.bits());
        new.atime = (is.atime != before.atime).then(|| time(is.atime));
        new.mtime = if now.kind == FileType::Directory {
            let is_as_before = now.mtime == before.mtime;
            Some(time(if is_as_before { is.mtime } else { is.mtime.max(now.mtime) }))
        } else {
            (is.mtime != before.mtime || what.contains(Aspects::DATA)).then(|| time(is.mtime))
        };
        new
    }

    /// Returns the extended attributes and lists that differ from what was known.
    #[expect(clippy::type_complexity, reason = "the three are taken apart at once")]
    fn new_extras(
        &self,
        number: u64,
        record: &Record,
        known: &BTreeMap<Vec<u8>, Row>,
    ) -> (Vec<(Vec<u8>, Option<Vec<u8>>)>, Option<NewList>, Option<NewList>) {
        let (before, now) = (xattrs_of(known.clone()), self.xattrs(number, record));
        let gone = before.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), None));
        let new = now.iter().filter(|(name, value)| before.get(*name) != Some(value));
        let xattrs = gone.chain(new.map(|(name, value)| (name.clone(), Some(value.clone())))).collect();
        let list = |kind| {
            let before = match known.get(&rows::acl(number, kind)[..]) {
                Some(Row::Acl(acl)) => Some(acl.to_xattr()),
                _ => None,
            };
            let now = self.list(number, kind);
            (now != before).then_some(now)
        };
        (xattrs, list(AclKind::Access), list(AclKind::Default))
    }

    /// Returns what a new node gets after all names are in their places: the time of a directory,
    /// if moves may have changed it, and flags that forbid changes.
    pub(super) fn later(
        &self,
        number: u64,
        record: &Record,
        node: Identity,
        touched: &BTreeSet<u64>,
    ) -> Result<Option<NodeChange>, Errno> {
        let of = &record.attributes;
        let flags = has_forbidding_flags(of).then(|| record.flags.bits());
        let mtime = (record.is_directory() && touched.contains(&number)).then(|| time(of.mtime));
        if flags.is_none() && mtime.is_none() {
            return Ok(None);
        }
        let at = Where::Path(self.plan.final_path(number)?);
        Ok(Some(NodeChange { at, node, data: None, setting: Setting { flags, mtime, ..Setting::default() } }))
    }
}

/// Returns the extended attributes among rows.
fn xattrs_of(rows: BTreeMap<Vec<u8>, Row>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let xattr = |(key, row): (Vec<u8>, Row)| match (rows::parts(&key)?, row) {
        ((_, Tag::Xattr, name), Row::Xattr(value)) => Some((name.to_vec(), value.to_vec())),
        _ => None,
    };
    rows.into_iter().filter_map(xattr).collect()
}
