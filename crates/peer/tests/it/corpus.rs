//! The kept corpus of the fuzz targets, replayed: what was found once stays found.

#[expect(unreachable_pub, reason = "public where the fuzz targets call it")]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

use rstest::rstest;

#[rstest]
#[case("lines", targets::lines)]
#[case("content_length", targets::content_length)]
#[case("websocket", targets::websocket)]
#[case("envelope", targets::envelope)]
fn the_corpus_finds_nothing(#[case] target: &str, #[case] run: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 4, "{inputs} inputs in {}", dir.display());
}
