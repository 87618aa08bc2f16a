//! Texts and short ways to documents.

use bobbin_hl7::{Document, Limits, Patch, PatchReport};

/// The separators that the examples use.
pub(crate) const MSH: &str = "MSH|^~\\&";

/// Messages with what is unusual: escapes, repetitions, subcomponents, empty places, own separators, Z-segments,
/// trailing separators, segments without fields, all line ends, blank lines, lines that are no segments.
pub(crate) const CORPUS: [&str; 13] = [
    "MSH|^~\\&|LAB|HOSP|EHR|HOSP|20260101120000||ORU^R01|1|P|2.5\rPID|1||4711^^^H||ROE^JANE\r",
    "MSH|^~\\&|A\rPID|1||A1^^^H~B2^^^K||DOE^ANN\rOBX|1|TX|||V\\T\\W \\H\\bold\\N\\ \\.br\\ \\X41\\ \\Zlocal\\ \\E\\",
    "MSH|^~\\&|A||\rPID|||~A~~B~|^^||&&|a&b&^c&&d^|\rZPD|1|own^thing&x\r",
    "MSH*:!%$*LAB\rPID*1**A1:::H!B2*x%F%y%S%z\rOBX*1*TX***a|b^c~d\\e&f",
    "MSH|^~\\&#|A\rOBX|1|ST|||a#b\\P\\c\r",
    "MSH|^|A|B\rPID|1||x^y~z\\w&v\r",
    "MSH|^~\\&\rNK1\rNK1||x\rNK1\rOBR\r",
    "MSH|^~\\&|A\nPID|1\nOBX|1\n",
    "MSH|^~\\&|A\r\nPID|1\r\n\r\nOBX|1\r\n\n\r",
    "MSH|^~\\&|A\rOBR|1\rOBX|1\rOBX|2||\rOBR|2|\rOBX|1\rNTE|1",
    "MSH|^~\\&|M\u{fc}ller\u{2028}x\u{85}y\u{feff}\rPID|1||007|1.50|yes|1979-05-27|null|~x|# no|\"\"|'",
    "MSH|^~\\&|C:\\temp\\F\\x|\\|\\\\|a\\ b \\S\\ c|\\Q\\\rno segment at all\r|fields\rpid|1|lower",
    "MSH|^~\\&|A\rMSH|^~\\&#|B\rMSH\rPID|1||\\X0D0A\\|\\XFF\\|\\X4\\|\\C2842\\",
];

pub(crate) fn document(text: &str) -> Document {
    Document::open(text.as_bytes(), Limits::default()).unwrap()
}

/// Returns a document with a header and one segment.
pub(crate) fn with(segment: &str) -> Document {
    document(&format!("{MSH}\r{segment}"))
}

/// Returns what is behind the header once patches are applied to one segment, and what came of them.
pub(crate) fn patched(segment: &str, patches: &[Patch]) -> (String, PatchReport) {
    let mut document = with(segment);
    let report = document.patch(patches).unwrap();
    let text = document.text().strip_prefix(MSH).unwrap();
    (text.trim_start_matches('\r').to_owned(), report)
}
