//! One path, from somewhere, by somebody: see `pathwalk_fuzz::question`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pathwalk_fuzz::question::check(bytes));
