//! Models of `Bed`: a thread that sleeps for an answer is woken, although the answering thread
//! takes the lock only if a sleeper is counted.

use super::race;
use crate::cache::dcache::waiters::Bed;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

#[derive(Default)]
struct Question {
    bed: Bed,
    is_answered: AtomicU64,
    answer: AtomicU64,
}

#[test]
fn nobody_sleeps_on() {
    let wait: fn(&Question) = |question| {
        question.bed.sleep_while(|| question.is_answered.load(Acquire) == 0);
        assert_eq!(question.answer.load(Relaxed), 7);
    };
    let answer: fn(&Question) = |question| {
        question.answer.store(7, Relaxed);
        question.is_answered.store(1, Release);
        question.bed.wake();
    };
    race(Question::default, [wait, answer], |_, _| {});
}
