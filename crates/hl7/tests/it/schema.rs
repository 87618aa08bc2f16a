//! Schema overrides and findings.

use bobbin_hl7::{DataType, FieldSchema, Finding, Overrides, Properties, Schema};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::document;

fn overrides(fields: &Value) -> Overrides {
    let (overrides, warnings) = read(fields);
    assert!(warnings.is_empty(), "{warnings:?}");
    overrides
}

fn read(fields: &Value) -> (Overrides, Vec<String>) {
    Overrides::from_json(&json!({"segments": {"ZZ1": {"fields": fields}}}))
}

fn field(schema: &Schema, field: u8, component: Option<u8>) -> Properties {
    let found = schema
        .segment("ZZ1")
        .iter()
        .find(|entry| (entry.field, entry.component) == (field, component));
    found.map(|entry: &FieldSchema| entry.properties.clone()).unwrap()
}

/// Returns the path of a finding as text.
fn place(finding: &Finding) -> String {
    finding.path.map_or("line".to_owned(), |path| path.to_string())
}

#[test]
fn behaviour_56_a_property_is_inherited_removed_or_replaced() {
    let base = Schema::default().with(&overrides(&json!([
        {"field": 1, "name": "One", "required": true, "maxlength": 5, "values": {"A": "a", "B": "b"}, "datatype": "date"}
    ])));
    let merged = base.with(&overrides(
        &json!([{"field": 1, "required": null, "maxlength": 9, "values": {"C": "c"}}]),
    ));
    let one = field(&merged, 1, None);
    assert_eq!(
        (one.name.as_deref(), one.required, one.maxlength),
        (Some("One"), None, Some(9))
    );
    assert_eq!(
        one.values.unwrap().into_keys().collect::<Vec<_>>(),
        ["C"],
        "codes are replaced as a whole"
    );
    assert_eq!(one.datatype, Some(DataType::Date));
}

#[test]
fn behaviour_57_exact_matches_come_before_flexible_ones() {
    let base = Schema::default().with(&overrides(
        &json!([{"field": 5, "name": "whole"}, {"field": 5, "component": 1, "name": "first"}]),
    ));
    let merged = base.with(&overrides(&json!([
        {"field": 5, "component": 1, "note": "exact"}, {"field": 5, "component": 2, "note": "flexible"}, {"field": 6, "note": "new"}
    ])));
    assert_eq!(field(&merged, 5, Some(1)).note.as_deref(), Some("exact"));
    let whole = field(&merged, 5, None);
    assert_eq!(
        (whole.name.as_deref(), whole.note.as_deref()),
        (Some("whole"), Some("flexible"))
    );
    assert_eq!(field(&merged, 6, None).note.as_deref(), Some("new"));
    assert_eq!(merged.segment("ZZ1").len(), 3);
}

#[test]
fn behaviour_58_a_null_of_the_second_removes_what_the_first_has_set() {
    let first = overrides(&json!([{"field": 1, "required": true, "name": "first"}]));
    let second = overrides(&json!([{"field": 1, "required": null}]));
    let merged = Schema::base().with(&first).with(&second);
    assert_eq!(
        (
            field(&merged, 1, None).required,
            field(&merged, 1, None).name.as_deref()
        ),
        (None, Some("first"))
    );
    let merged = Schema::base().with(&second).with(&first);
    assert_eq!(field(&merged, 1, None).required, Some(true), "the later one wins");
}

#[test]
fn behaviour_59_an_extension_that_is_left_out_leaves_nothing() {
    let all = [
        overrides(&json!([{"field": 1, "required": true}])),
        overrides(&json!([{"field": 2, "name": "two"}])),
    ];
    let merge = |of: &[Overrides]| {
        of.iter()
            .fold(Schema::base(), |schema, overrides| schema.with(overrides))
    };
    assert_eq!(merge(&all).segment("ZZ1").len(), 2);
    assert_eq!(merge(&all[1..]).segment("ZZ1").len(), 1);
    assert_eq!(merge(&[]), Schema::base());
}

#[rstest]
#[case(json!({"field": 256}))]
#[case(json!({"field": 0}))]
#[case(json!({"name": "x"}))]
#[case(json!({"field": 1, "component": 256}))]
#[case(json!({"field": "1"}))]
#[case(json!("x"))]
fn an_entry_that_cannot_be_used_costs_a_warning(#[case] entry: Value) {
    let (overrides, warnings) = read(&json!([entry, {"field": 9, "name": "nine"}]));
    assert_eq!(warnings.len(), 1);
    assert_eq!(Schema::default().with(&overrides).segment("ZZ1").len(), 1);
}

#[rstest]
#[case("datatype", json!("time"))]
#[case("required", json!("yes"))]
#[case("maxlength", json!(-1))]
#[case("pattern", json!("("))]
#[case("values", json!({"A": 1}))]
#[case("name", json!(["x"]))]
fn a_property_that_cannot_be_used_inherits_and_costs_a_warning(#[case] key: &str, #[case] value: Value) {
    let base = json!([{"field": 1, "datatype": "date", "required": true, "maxlength": 3, "pattern": "a", "values": {"A": "a"}, "name": "n"}]);
    let base = Schema::default().with(&overrides(&base));
    let (bad, warnings) = read(&json!([{"field": 1, key: value}]));
    assert_eq!((warnings.len(), warnings[0].contains(key)), (1, true));
    assert_eq!(base.with(&bad), base);
}

#[rstest]
#[case("ZZ1|", "ZZ1.1 Required")]
#[case("ZZ1|abc", "")]
#[case("ZZ1|a~abcdef", "ZZ1.1[1] MinLength, ZZ1.1[2] MaxLength")]
#[case("ZZ1|abc|20240229", "")]
#[case("ZZ1|abc|20230229", "ZZ1.2 DataType")]
#[case("ZZ1|abc|2023", "")]
#[case("ZZ1|abc|\"\"", "")]
#[case("ZZ1|abc||20231231235959.1234+0100", "")]
#[case("ZZ1|abc||202312312460", "ZZ1.3 DataType")]
#[case("ZZ1|abc||20231231+2500", "ZZ1.3 DataType")]
#[case("ZZ1|abc||2023123123595", "ZZ1.3 DataType")]
#[case("ZZ1|abc|||X", "ZZ1.4 Values")]
#[case("ZZ1|abc|||A\\T\\B", "")]
#[case("ZZ1|abc||||x1", "ZZ1.5 Pattern")]
#[case("ZZ1|abc||||12", "")]
#[case("ZZ1|abc||||1^x", "ZZ1.5.2 MinLength")]
#[case("ZZ1|abc||||~1^x~2^yy~^z", "ZZ1.5[2].2 MinLength, ZZ1.5[4].2 MinLength")]
#[case("ZZ1|abc\rZZ1||", "ZZ1[2].1 Required")]
#[case("ZZ1|abc\rjunk", "line Segment")]
fn findings_name_places_and_rules(#[case] segments: &str, #[case] expected: &str) {
    let schema = Schema::default().with(&overrides(&json!([
        {"field": 1, "required": true, "minlength": 2, "maxlength": 5},
        {"field": 2, "datatype": "date"},
        {"field": 3, "datatype": "datetime"},
        {"field": 4, "values": {"A&B": "both"}},
        {"field": 5, "pattern": "[0-9]+"},
    ])));
    let schema = schema.with(&overrides(
        &json!([{"field": 5, "pattern": "[0-9]+"}, {"field": 5, "component": 2, "minlength": 2}]),
    ));
    let message = document(&format!("MSH|^~\\&\r{segments}")).message().unwrap();
    let found = schema.validate(&message).findings;
    let found: Vec<String> = found
        .iter()
        .map(|finding| format!("{} {:?}", place(finding), finding.rule))
        .collect();
    assert_eq!(found.join(", "), expected);
}

#[test]
fn the_base_knows_common_segments() {
    let schema = Schema::base();
    assert!(
        ["MSH", "EVN", "PID", "PV1", "OBR", "OBX", "ORC"]
            .iter()
            .all(|name| schema.segment(name).len() > 3)
    );
    let message = "MSH|^~\\&|LAB||||20260101||ORU^R01|1|P|2.5.1\rPID|||4711||Roe^Jane||19700101|F\rOBX|1|ST|x||y||||||F";
    assert_eq!(
        schema.validate(&document(message).message().unwrap()).findings,
        []
    );
    let bare = document("MSH|^~\\&\rPID|").message().unwrap();
    let missing: Vec<String> = schema.validate(&bare).findings.iter().map(place).collect();
    assert_eq!(
        missing,
        ["MSH.7", "MSH.9", "MSH.10", "MSH.11", "MSH.12", "PID.3", "PID.5"]
    );
}

#[test]
fn findings_have_a_limit_and_no_text_of_the_message() {
    let schema = Schema::default().with(&overrides(
        &json!([{"field": 1, "maxlength": 1, "values": {"A": "a"}}]),
    ));
    let message = document(&format!("MSH|^~\\&\r{}", "ZZ1|secret\r".repeat(900)))
        .message()
        .unwrap();
    let findings = schema.validate(&message);
    assert_eq!(
        (findings.findings.len(), findings.truncated),
        (bobbin_hl7::MAX_FINDINGS, true)
    );
    assert!(
        findings
            .findings
            .iter()
            .all(|finding| !finding.message.contains("secret"))
    );
    let json = serde_json::to_value(&findings.findings[0]).unwrap();
    assert_eq!(
        (json["path"].as_str(), json["rule"].as_str()),
        (Some("ZZ1.1"), Some("maxlength"))
    );
}
