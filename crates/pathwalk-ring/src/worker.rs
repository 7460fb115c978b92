//! The loop of a worker: it takes waiting work, does it, retries the work that waited for the same
//! name, sleeps, and ends when it has been idle.

use std::sync::Arc;
use std::time::Instant;

use pathwalk::Cancellation;

use crate::foreign::{Panicked, caught};
use crate::pool::Shared;
use crate::punt::{Punted, Work};
use crate::state::State;
use crate::sync::{Awake, MutexGuard, wait};
use crate::waiting::cancellation;

/// Runs a worker. It was counted as idle when it was started.
pub(crate) fn work(pool: &Arc<Shared>) {
    let mut state = pool.lock();
    while let Some((punted, waits)) = next(pool, state) {
        state = perform(pool, punted, &waits);
        state.idle += 1;
    }
}

/// Returns the next work; `None` if the worker is to end.
fn next(pool: &Arc<Shared>, mut state: MutexGuard<'_, State>) -> Option<(Punted, Cancellation)> {
    let mut until = None;
    loop {
        // There is one too many after a wait.
        if state.workers > pool.max() {
            break;
        }
        if let Some(taken) = state.take(|| cancellation(pool)) {
            return Some(taken);
        }
        if state.closed {
            break;
        }
        let until = *until.get_or_insert_with(|| Instant::now().checked_add(pool.idle_time));
        let awake;
        (state, awake) = wait(pool.some(), state, until);
        if awake == Awake::TimeOver && state.queue.is_empty() {
            break;
        }
    }
    state.workers -= 1;
    state.idle -= 1;
    None
}

/// Does all parts of the work. Returns with the pool locked, for the next.
fn perform<'a>(pool: &'a Arc<Shared>, Punted { work, mut missing }: Punted, waits: &Cancellation) -> MutexGuard<'a, State> {
    let tag = work.tag().clone();
    let mut left = Some(work);
    while let Some(work) = left {
        left = caught(|| waits.during(|| work.run())).unwrap_or(None);
        let mut state = pool.lock();
        if left.is_none() {
            state.end(&tag);
        }
        let parked = missing.take().map(|name| state.release(name)).unwrap_or_default();
        if left.is_none() && parked.is_empty() {
            return state;
        }
        drop(state);
        parked.into_iter().for_each(|work| retry(pool, work));
    }
    pool.lock()
}

/// Retries work whose missing name was looked up. It is now answered, or misses another name.
fn retry(pool: &Arc<Shared>, work: Box<dyn Work>) {
    let tag = work.tag().clone();
    match caught(|| work.retry()) {
        Ok(Some(punted)) => pool.put_back(punted),
        Ok(None) | Err(Panicked) => pool.lock().end(&tag),
    }
}
