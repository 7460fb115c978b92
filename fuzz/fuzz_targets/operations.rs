//! The fuzz target for a sequence of operations: see `pathwalk_fuzz::program`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pathwalk_fuzz::program::check(bytes));
