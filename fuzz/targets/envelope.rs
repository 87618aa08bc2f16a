#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| bobbin_fuzz::envelope(data));
