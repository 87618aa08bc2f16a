#![no_main]
// Apart from `src/lib.rs`, whose targets are replayed by a crate that knows nothing of messages.
#[path = "../src/hl7.rs"]
mod hl7;
libfuzzer_sys::fuzz_target!(|data: &[u8]| hl7::hl7(data));
