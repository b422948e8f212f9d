#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chatparse_fuzz::cases::response::case(bytes));
