//! The corpus of the fuzz target, replayed: what was found once stays found.

#[expect(unreachable_pub, reason = "public where the fuzz target calls it")]
#[path = "../../../../fuzz/src/hl7.rs"]
mod target;

use std::path::Path;

#[test]
fn the_corpus_finds_nothing() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hl7");
    let mut inputs = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        target::hl7(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 4, "{inputs} inputs in {}", dir.display());
}
