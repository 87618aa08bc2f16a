//! Patches: the tables of the contract row by row, and what surrounds them.

use bobbin_hl7::{Patch, Value};
use rstest::rstest;

use crate::support::{MSH, document, patched, with};

const PID: &str = "PID|1||A1^^^H~B2^^^K||DOE^ANN";

#[rstest]
#[case::component("PID.5.1", "ROE", "PID|1||A1^^^H~B2^^^K||ROE^ANN")]
#[case::component_of_a_repetition("PID.3[2].1", "C3", "PID|1||A1^^^H~C3^^^K||DOE^ANN")]
#[case::one_repetition("PID.3[2]", "C3", "PID|1||A1^^^H~C3||DOE^ANN")]
#[case::all_repetitions("PID.3", "C3", "PID|1||C3||DOE^ANN")]
#[case::behind_a_text("PID.1.2", "X", "PID|1^X||A1^^^H~B2^^^K||DOE^ANN")]
#[case::data_is_escaped("PID.8", "A^B", "PID|1||A1^^^H~B2^^^K||DOE^ANN|||A\\S\\B")]
#[case::every_special(
    "PID.2",
    "|^~\\&\r\n",
    "PID|1|\\F\\\\S\\\\R\\\\E\\\\T\\\\X0D\\\\X0A\\|A1^^^H~B2^^^K||DOE^ANN"
)]
#[case::missing_places("PID.7[2].3.2", "X", "PID|1||A1^^^H~B2^^^K||DOE^ANN||~^^&X")]
#[case::subcomponent("PID.5.2.3", "X", "PID|1||A1^^^H~B2^^^K||DOE^ANN&&X")]
#[case::repetition_added("PID.5[3]", "X", "PID|1||A1^^^H~B2^^^K||DOE^ANN~~X")]
#[case::cleared_by_nothing("PID.5", "", "PID|1||A1^^^H~B2^^^K||")]
fn behaviour_35_a_field_is_set(#[case] path: &str, #[case] value: &str, #[case] after: &str) {
    let (text, report) = patched(PID, &[Patch::set(path, value)]);
    assert_eq!(text, after);
    assert!(report.success && report.errors.is_empty());
}

#[test]
fn behaviour_35_the_header_counts_its_separator_as_a_field() {
    let mut document = document("MSH|^~\\&|OLD|F");
    assert!(
        document
            .patch(&[Patch::set("MSH.3", "NEW"), Patch::set("MSH.6", "X")])
            .unwrap()
            .success
    );
    assert_eq!(document.text(), "MSH|^~\\&|NEW|F||X");
    let report = document
        .patch(&[Patch::set("MSH.1", "#"), Patch::set("MSH.2", "*")])
        .unwrap();
    assert_eq!((report.patches_applied, report.errors.len()), (0, 2));
    assert_eq!(document.text(), "MSH|^~\\&|NEW|F||X");
    let message = document.message().unwrap();
    assert_eq!(message.raw(&"MSH.1".parse().unwrap()), Some("|"));
    assert_eq!(message.get(&"MSH.2".parse().unwrap()), Some(Value::from("^~\\&")));
}

#[test]
fn behaviour_35_a_place_without_value_is_cleared() {
    for json in [
        r#"{"path": "PID.3[2]"}"#,
        r#"{"path": "PID.3[2]", "value": null}"#,
        r#"{"path": "PID.3[2]", "remove": true}"#,
    ] {
        let patch: Patch = serde_json::from_str(json).unwrap();
        assert_eq!(patched(PID, &[patch]).0, "PID|1||A1^^^H~||DOE^ANN");
    }
    let (text, report) = patched(PID, &[Patch::set("PID.30.2", "")]);
    assert_eq!(
        (text.as_str(), report.success),
        (PID, true),
        "nothing is added to be empty"
    );
}

#[test]
fn behaviour_35_segments_are_removed() {
    let three = "OBX|1\rOBX|2\rNTE|1\rOBX|3";
    assert_eq!(patched(three, &[Patch::remove("OBX")]).0, "OBX|2\rNTE|1\rOBX|3");
    assert_eq!(
        patched(three, &[Patch::remove("OBX[3]")]).0,
        "OBX|1\rOBX|2\rNTE|1\r"
    );
    let (text, report) = patched(three, &[Patch::remove("OBX[4]"), Patch::remove("ZZZ")]);
    assert_eq!(
        (text.as_str(), report.success, report.patches_applied),
        (three, true, 2)
    );
    let (text, report) = patched(three, &[Patch::remove("MSH")]);
    assert_eq!((text.as_str(), report.success), (three, false));
}

#[test]
fn behaviour_39_the_second_of_three_is_removed() {
    let (text, _) = patched("OBX|1\rOBX|2||\rOBX|3", &[Patch::remove("OBX[2]")]);
    assert_eq!(text, "OBX|1\rOBX|3");
}

#[rstest]
#[case::behind_the_last_of_its_name("OBX", "OBX|1\rNTE|1", "OBX|1\rOBX\rNTE|1")]
#[case::at_the_end("NK1", "OBX|1\rNTE|1\r", "OBX|1\rNTE|1\rNK1\r")]
#[case::as_many_as_it_takes("NK1[3]", "NK1|1\rNTE|1", "NK1|1\rNK1\rNK1\rNTE|1")]
#[case::one_more_if_it_exists("NK1[1]", "NK1|1\rNTE|1", "NK1|1\rNK1\rNTE|1")]
#[case::before_blank_lines("NK1", "OBX|1\r\r\r", "OBX|1\rNK1\r\r\r")]
fn behaviour_35_segments_are_created(#[case] path: &str, #[case] before: &str, #[case] after: &str) {
    let (text, report) = patched(before, &[Patch::create(path)]);
    assert_eq!((text.as_str(), report.success), (after, true));
}

#[test]
fn behaviour_35_creating_a_field_creates_its_segment() {
    let create = |path: &str| Patch {
        create: true,
        ..Patch::set(path, "X")
    };
    assert_eq!(
        patched(PID, &[create("NK1[2].2.1")]).0,
        format!("{PID}\rNK1\rNK1||X")
    );
    assert_eq!(
        patched(PID, &[create("PID.2")]).0,
        "PID|1|X|A1^^^H~B2^^^K||DOE^ANN"
    );
}

#[rstest]
#[case::segment_alone(Patch { path: "PID".into(), ..Patch::default() })]
#[case::both_flags(Patch { remove: true, ..Patch::create("PID") })]
#[case::no_such_segment(Patch::set("NK1.2", "X"))]
#[case::no_such_occurrence(Patch::set("PID[2].2", "X"))]
#[case::value_for_a_segment(Patch { create: true, ..Patch::set("NK1", "X") })]
#[case::second_header(Patch::create("MSH"))]
#[case::too_long(Patch { value: Some("X".repeat(9 << 20)), ..Patch::set("PID.2", "") })]
fn behaviour_35_a_patch_that_fails_changes_nothing(#[case] patch: Patch) {
    let (text, report) = patched(PID, &[patch]);
    assert_eq!(
        (text.as_str(), report.success, report.patches_applied),
        (PID, false, 0)
    );
}

#[test]
fn behaviour_36_the_rest_applies_when_a_patch_fails() {
    let patches = [
        Patch::set("PID.1", "2"),
        Patch::set("NK1.1", "X"),
        Patch::set("PID.", "X"),
        Patch::set("PID.2", "3"),
    ];
    let (text, report) = patched(PID, &patches);
    assert_eq!(text, "PID|2|3|A1^^^H~B2^^^K||DOE^ANN");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&json["success"], &json["patchesApplied"]),
        (&false.into(), &2.into())
    );
    assert_eq!(
        (&json["errors"][0]["index"], &json["errors"][0]["path"]),
        (&1.into(), &"NK1.1".into())
    );
    assert_eq!(json["errors"][1]["index"], 2);
    assert!(json["errors"][0]["message"].as_str().unwrap().contains("NK1"));
    let (_, report) = patched(PID, &patches[..1]);
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        serde_json::json!({"success": true, "patchesApplied": 1})
    );
}

#[test]
fn behaviour_37_a_patch_leaves_every_other_byte() {
    let before = "MSH|^~\\&|A||\nPID|1||\\E\\V\\T\\W\\H\\~~^^&|x|||\n\nZZZ|\\q|^\r\n\r\r";
    let mut document = document(before);
    assert!(document.patch(&[Patch::set("PID.4", "y")]).unwrap().success);
    assert_eq!(document.text(), before.replace("|x|", "|y|"));
}

#[test]
fn behaviour_37_the_same_value_again_changes_no_escape_sequence() {
    let raw = "PID|1||a\\X41\\b\\H\\c\\N\\";
    let mut document = with(raw);
    let path = "PID.3".parse().unwrap();
    let value = document.message().unwrap().get(&path).unwrap();
    let value = value.as_text().unwrap();
    assert_eq!(value, "aAb\\H\\c\\N\\");
    document.patch(&[Patch::set("PID.3", value)]).unwrap();
    assert_eq!(document.version(), 0);
    document
        .patch(&[Patch::set("PID.3", value.replace('c', "d"))])
        .unwrap();
    assert_eq!(document.text(), format!("{MSH}\r{}", raw.replace('c', "d")));
}

#[test]
fn behaviour_38_a_created_segment_is_set_by_the_next_patch_of_the_call() {
    for end in ["", "\r", "\n", "\r\n"] {
        let mut document = document(&format!("{MSH}\r{PID}{end}"));
        let patches = [
            Patch::create("NK1"),
            Patch::set("NK1.2.1", "ROE"),
            Patch::create("NTE"),
            Patch::set("NTE.3", "x"),
        ];
        assert!(document.patch(&patches).unwrap().success);
        let between = if end.is_empty() { "\r" } else { end };
        assert_eq!(
            document.text(),
            format!("{MSH}\r{PID}{between}NK1||ROE{between}NTE|||x{end}")
        );
    }
}

#[test]
fn numbers_and_booleans_are_values_as_text() {
    let patches: Vec<Patch> =
        serde_json::from_str(r#"[{"path": "PID.2", "value": 7}, {"path": "PID.4", "value": true}]"#).unwrap();
    assert_eq!(patched(PID, &patches).0, "PID|1|7|A1^^^H~B2^^^K|true|DOE^ANN");
}

#[test]
fn separators_that_a_message_does_not_declare_cannot_be_written() {
    let mut document = document("MSH|^\rPID|1||a~b");
    let report = document.patch(&[
        Patch::set("PID.3[2]", "x"),
        Patch::set("PID.3.1.2", "x"),
        Patch::set("PID.4", "a|b"),
        Patch::set("PID.4", "a~b&c\\d"),
    ]);
    assert_eq!(report.unwrap().patches_applied, 1);
    assert_eq!(document.text(), "MSH|^\rPID|1||a~b|a~b&c\\d");
}

#[test]
fn own_separators_are_used_and_escaped() {
    let mut document = document("MSH*:!%$\rPID*1");
    assert!(
        document
            .patch(&[Patch::set("PID.3[2].2.2", "a|b*c:d!e%f$g")])
            .unwrap()
            .success
    );
    assert_eq!(document.text(), "MSH*:!%$\rPID*1**!:$a|b%F%c%S%d%R%e%E%f%T%g");
}

#[test]
fn far_places_do_not_make_a_message_too_long() {
    let patches = vec![Patch::set("PID.9999[9999].9999.9999", "x"); 300];
    let mut document = with("PID|1");
    assert!(document.patch(&patches).unwrap().success);
    assert!(document.text().len() < 50_000);
    let mut patches: Vec<Patch> = (1..=20)
        .map(|n| Patch::create(format!("Z{n:02}[9999]")))
        .collect();
    patches.push(Patch::set("PID.1", "2"));
    let report = document.patch(&patches).unwrap();
    assert!(
        !report.success
            && report
                .errors
                .iter()
                .all(|failure| failure.message.contains("segments"))
    );
    assert!(document.message().unwrap().segments().len() <= bobbin_hl7::MAX_SEGMENTS);
}
