//! The fuzz target for one path, from any start, by any user: see `pathwalk_fuzz::question`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pathwalk_fuzz::question::check(bytes));
