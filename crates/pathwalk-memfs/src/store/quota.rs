//! What each user, group and project stores, and how much it may store.
//!
//! Each node pays for itself and its pages, by the ids that it has. Each kind of id has a table of
//! accounts in stripes, each with a lock of its own, inside of which no other is taken. So writers
//! of different users seldom wait for each other.
//!
//! What always holds: an account has the sum of what its nodes take. A thread that changes what a
//! node takes, or its ids, has the node's lock exclusively, or no other thread has the node. What
//! finds room in one account and not in the next is given back to the first: another thread may
//! meanwhile find less room than there is.
//!
//! Source: `fs/quota/dquot.c` of Linux. The order of `ENOSPC` and `EDQUOT` is that of a tmpfs.

use hashbrown::HashMap;
use parking_lot::Mutex;
use pathwalk::{Errno, SetAttributes, StatFs, Timestamp};

use super::Store;
use super::inode::Inode;
use super::ledger::Ledger;
use super::meter::Meter;
use super::pages::PAGE;
use crate::clock::Clock;
use crate::options::Options;
use crate::quota::{QuotaKind, QuotaLimits, QuotaUsage};

/// The number of stripes of a table.
const STRIPES: usize = 64;

/// The memory of an account in its table, in bytes, where half of the table is free.
const TABLE_ENTRY: u64 = 2 * (size_of::<(u32, Account)>() as u64 + 1);

/// The kinds, in the order in which they are asked.
const KINDS: [QuotaKind; 3] = [QuotaKind::User, QuotaKind::Group, QuotaKind::Project];

/// The accounts of a file system.
pub(crate) struct Quotas {
    /// The accounts of each kind; `None` for a kind that is not counted.
    kinds: [Option<Accounts>; 3],
    /// The time for which a soft limit may be exceeded, in seconds.
    grace: i64,
}

/// The accounts of one kind, by their ids. One that has nothing, and no limits, is not there.
struct Accounts([Mutex<HashMap<u32, Account>>; STRIPES]);

/// The usage and the limits of one user, group or project.
#[derive(Default)]
struct Account {
    bytes: Meter,
    nodes: Meter,
}

/// The ids that pay for a node, in the order of [`KINDS`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Payers(pub(super) [u32; 3]);

/// An amount of both resources.
#[derive(Clone, Copy)]
pub(super) struct Amount {
    pub(super) bytes: u64,
    pub(super) nodes: u64,
}

/// The resources that a request is checked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checked {
    /// Those that it takes some of.
    Taken,
    /// Both, as a change of the owner checks them, even if it takes none of one.
    Both,
}

impl Amount {
    fn pages(pages: u64) -> Amount {
        Amount { bytes: pages.saturating_mul(PAGE), nodes: 0 }
    }

    /// Returns the amount of a node with so many pages.
    pub(super) fn node(pages: u64) -> Amount {
        Amount { nodes: 1, ..Amount::pages(pages) }
    }
}

impl Store {
    /// Takes room for pages of a node, whose lock the caller has: `ENOSPC`, `EDQUOT`.
    #[inline]
    pub(super) fn take_pages(&self, inode: Inode<'_>, count: u64) -> Result<(), Errno> {
        self.space.pages.take(count)?;
        let Some(quotas) = &self.quotas else { return Ok(()) };
        let taken = quotas.take(self.payers(inode), Amount::pages(count), self.at());
        taken.inspect_err(|_| self.space.pages.give(count))
    }

    /// Gives back the room of pages of a node, whose lock the caller has.
    pub(super) fn give_pages(&self, inode: Inode<'_>, count: u64) {
        self.space.pages.give(count);
        if let Some(quotas) = &self.quotas {
            quotas.give(self.payers(inode), Amount::pages(count), &self.ledger);
        }
    }

    /// Takes room for a new node with its first pages: `ENOSPC`, `EDQUOT`.
    pub(super) fn take_node(&self, payers: Payers, pages: u64) -> Result<(), Errno> {
        self.space.take_node(pages)?;
        let Some(quotas) = &self.quotas else { return Ok(()) };
        quotas.take(payers, Amount::node(pages), self.at()).inspect_err(|_| self.space.give_node(pages))
    }

    /// Gives back the room of a node that is being freed, or was not made.
    pub(super) fn give_node(&self, payers: Payers, pages: u64) {
        self.space.give_node(pages);
        if let Some(quotas) = &self.quotas {
            quotas.give(payers, Amount::node(pages), &self.ledger);
        }
    }

    /// Lets others pay for a node, whose lock the caller has, as `set` says: `EDQUOT`.
    pub(super) fn transfer_owner(&self, inode: Inode<'_>, set: &SetAttributes) -> Result<(), Errno> {
        if self.quotas.is_none() || (set.uid, set.gid) == (None, None) {
            return Ok(());
        }
        let Payers([uid, gid, project]) = self.payers(inode);
        self.transfer(inode, Payers([set.uid.unwrap_or(uid), set.gid.unwrap_or(gid), project]))
    }

    /// Lets others pay for a node, whose lock the caller has: `EDQUOT`.
    pub(super) fn transfer(&self, inode: Inode<'_>, to: Payers) -> Result<(), Errno> {
        let Some(quotas) = &self.quotas else { return Ok(()) };
        let amount = Amount::node(inode.slot.record.pages_of(inode.kind()));
        quotas.transfer(self.payers(inode), to, amount, self.at())
    }

    /// Returns the ids that pay for a node, whose lock the caller has.
    #[inline]
    pub(super) fn payers(&self, inode: Inode<'_>) -> Payers {
        let (uid, gid) = inode.slot.record.owner();
        Payers([uid, gid, self.project_id(inode)])
    }

    pub(crate) fn set_quota(&self, kind: QuotaKind, id: u32, limits: QuotaLimits) -> Result<(), Errno> {
        let quotas = self.quotas.as_deref().ok_or(Errno::ESRCH)?;
        let (grace, now) = (quotas.grace, self.now());
        quotas.of(kind)?.change(id, &self.ledger, |account| {
            account.bytes.limit(limits.bytes, limits.soft_bytes, now, grace);
            account.nodes.limit(limits.nodes, limits.soft_nodes, now, grace);
        });
        Ok(())
    }

    pub(crate) fn quota(&self, kind: QuotaKind, id: u32) -> Result<QuotaUsage, Errno> {
        let accounts = self.quotas.as_deref().ok_or(Errno::ESRCH)?.of(kind)?;
        Ok(accounts.stripe(id).lock().get(&id).map(Account::usage).unwrap_or_default())
    }

    pub(crate) fn quotas(&self, kind: QuotaKind) -> Result<Vec<(u32, QuotaUsage)>, Errno> {
        let accounts = self.quotas.as_deref().ok_or(Errno::ESRCH)?.of(kind)?;
        let mut all = Vec::new();
        for stripe in &accounts.0 {
            all.extend(stripe.lock().iter().map(|(id, account)| (*id, account.usage())));
        }
        all.sort_unstable_by_key(|(id, _)| *id);
        Ok(all)
    }

    /// Bounds what `statfs` returns of a directory by the quota of its project. Source:
    /// `ext4_statfs_project` of Linux.
    pub(super) fn bound_by_quota(&self, stat: &mut StatFs, project: u32) {
        let Ok(usage) = self.quota(QuotaKind::Project, project) else { return };
        let limits = usage.limits;
        if let Some(limit) = least(limits.bytes, limits.soft_bytes) {
            let free = bound((&mut stat.blocks, &mut stat.blocks_free), limit / PAGE, usage.bytes / PAGE);
            stat.blocks_available = free;
        }
        if let Some(limit) = least(limits.nodes, limits.soft_nodes) {
            bound((&mut stat.files, &mut stat.files_free), limit, usage.nodes);
        }
    }

    fn at(&self) -> (&Clock, &Ledger) {
        (&self.options.clock, &self.ledger)
    }
}

/// Returns the lesser of two limits.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Bounds a total and a free amount, which are 0 if there is no limit; returns the free amount.
fn bound((total, free): (&mut u64, &mut u64), limit: u64, used: u64) -> u64 {
    let (has_limit, left) = (*total > 0, limit.saturating_sub(used));
    (*total, *free) = if has_limit { ((*total).min(limit), (*free).min(left)) } else { (limit, left) };
    *free
}

impl Quotas {
    /// Returns the accounts of the kinds that the options name; `None` for none.
    pub(super) fn new(options: &Options) -> Option<Box<Quotas>> {
        let kinds = options.quotas.map(|counted| counted.map(|_| Accounts(std::array::from_fn(|_| Mutex::default()))));
        let grace = options.quota_grace.as_secs().try_into().unwrap_or(i64::MAX);
        options.quotas.iter().any(Option::is_some).then(|| Box::new(Quotas { kinds, grace }))
    }

    fn of(&self, kind: QuotaKind) -> Result<&Accounts, Errno> {
        self.kinds[kind as usize].as_ref().ok_or(Errno::ESRCH)
    }

    /// Takes an amount from all payers, or from none: `EDQUOT`.
    pub(super) fn take(&self, from: Payers, amount: Amount, at: (&Clock, &Ledger)) -> Result<(), Errno> {
        self.take_of(&KINDS, from, amount, Checked::Taken, at)
    }

    /// Gives an amount back to all payers.
    pub(super) fn give(&self, to: Payers, amount: Amount, ledger: &Ledger) {
        self.give_of(&KINDS, to, amount, ledger);
    }

    fn transfer(&self, from: Payers, to: Payers, amount: Amount, at: (&Clock, &Ledger)) -> Result<(), Errno> {
        let mut changed = [QuotaKind::User; 3];
        let mut count = 0;
        for kind in KINDS.into_iter().filter(|kind| from.0[*kind as usize] != to.0[*kind as usize]) {
            changed[count] = kind;
            count += 1;
        }
        self.take_of(&changed[..count], to, amount, Checked::Both, at)?;
        self.give_of(&changed[..count], from, amount, at.1);
        Ok(())
    }

    fn take_of(
        &self,
        kinds: &[QuotaKind],
        from: Payers,
        amount: Amount,
        checked: Checked,
        (clock, ledger): (&Clock, &Ledger),
    ) -> Result<(), Errno> {
        for (place, kind) in kinds.iter().enumerate() {
            let Ok(accounts) = self.of(*kind) else { continue };
            let taken =
                accounts.change(from.0[*kind as usize], ledger, |account| account.take(amount, checked, clock, self.grace));
            taken.inspect_err(|_| self.give_of(&kinds[..place], from, amount, ledger))?;
        }
        Ok(())
    }

    fn give_of(&self, kinds: &[QuotaKind], to: Payers, amount: Amount, ledger: &Ledger) {
        for kind in kinds {
            let Ok(accounts) = self.of(*kind) else { continue };
            accounts.change(to.0[*kind as usize], ledger, |account| account.give(amount));
        }
    }
}

impl Accounts {
    fn stripe(&self, id: u32) -> &Mutex<HashMap<u32, Account>> {
        &self.0[id as usize % STRIPES]
    }

    /// Changes an account, which is made first if it is not there, and dropped if it is empty.
    fn change<T>(&self, id: u32, ledger: &Ledger, change: impl FnOnce(&mut Account) -> T) -> T {
        let mut stripe = self.stripe(id).lock();
        if let Some(account) = stripe.get_mut(&id) {
            let result = change(account);
            if account.is_empty() {
                stripe.remove(&id);
                ledger.credit(TABLE_ENTRY);
            }
            return result;
        }
        let mut account = Account::default();
        let result = change(&mut account);
        if !account.is_empty() {
            stripe.insert(id, account);
            ledger.charge(TABLE_ENTRY);
        }
        result
    }
}

impl Account {
    /// Takes an amount or nothing: `EDQUOT`.
    fn take(&mut self, amount: Amount, checked: Checked, clock: &Clock, grace: i64) -> Result<(), Errno> {
        let nodes = self.nodes;
        if amount.nodes > 0 || checked == Checked::Both {
            self.nodes.take(amount.nodes, clock, grace)?;
        }
        if amount.bytes > 0 || checked == Checked::Both {
            self.bytes.take(amount.bytes, clock, grace).inspect_err(|_| self.nodes = nodes)?;
        }
        Ok(())
    }

    fn give(&mut self, amount: Amount) {
        self.nodes.give(amount.nodes);
        self.bytes.give(amount.bytes);
    }

    fn is_empty(&self) -> bool {
        (self.nodes, self.bytes) == (Meter::default(), Meter::default())
    }

    fn usage(&self) -> QuotaUsage {
        let time = |seconds| Timestamp { seconds, nanoseconds: 0 };
        QuotaUsage {
            bytes: self.bytes.used,
            nodes: self.nodes.used,
            limits: QuotaLimits {
                bytes: self.bytes.hard,
                soft_bytes: self.bytes.soft,
                nodes: self.nodes.hard,
                soft_nodes: self.nodes.soft,
            },
            bytes_until: self.bytes.until.map(time),
            nodes_until: self.nodes.until.map(time),
        }
    }
}
