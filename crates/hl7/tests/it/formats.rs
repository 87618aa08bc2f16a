//! The four formats: what they look like, what is read, what comes back.

use bobbin_hl7::{Document, Error, Format, Limits, NotAMessage, Shape};
use rstest::rstest;

use crate::support::{CORPUS, MSH, document, with};

const STRUCTURED: [Format; 3] = [Format::Json, Format::Yaml, Format::Toml];
const SHAPES: [Shape; 2] = [Shape::Segments, Shape::Keyed];

/// A message with each kind of field.
const SAMPLE: &str = "MSH|^~\\&|LAB\rPID|1||A1^^^H~B2||ROE^\\T\\&x|~|p~~q\rNK1\rPID|||~a^b";

#[test]
fn behaviour_32_a_message_in_four_formats() {
    let document = document(SAMPLE);
    assert_eq!(document.get(Format::Hl7, Shape::Segments).unwrap(), SAMPLE);
    let json: serde_json::Value =
        serde_json::from_str(&document.get(Format::Json, Shape::Segments).unwrap()).unwrap();
    let expected = serde_json::json!({"segments": [
        {"segment": "MSH", "fields": {"1": "|", "2": "^~\\&", "3": "LAB"}},
        {"segment": "PID", "fields": {
            "1": "1",
            "3": [{"1": "A1", "4": "H"}, "B2"],
            "5": {"1": "ROE", "2": {"1": "&", "2": "x"}},
            "7": ["p", null, "q"]}},
        {"segment": "NK1", "fields": {}},
        {"segment": "PID", "fields": {"3": [null, {"1": "a", "2": "b"}]}},
    ]});
    assert_eq!(json, expected);
    let json: serde_json::Value =
        serde_json::from_str(&document.get(Format::Json, Shape::Keyed).unwrap()).unwrap();
    let fields = |n: usize| expected["segments"][n]["fields"].clone();
    assert_eq!(
        json,
        serde_json::json!({"MSH": fields(0), "PID": [fields(1), fields(3)], "NK1": {}})
    );
}

#[test]
fn behaviour_32_yaml_has_every_text_in_quotes() {
    assert_eq!(
        document(SAMPLE).get(Format::Yaml, Shape::Segments).unwrap(),
        r#""segments":
  - "segment": "MSH"
    "fields":
      "1": "|"
      "2": "^~\\&"
      "3": "LAB"
  - "segment": "PID"
    "fields":
      "1": "1"
      "3":
        - "1": "A1"
          "4": "H"
        - "B2"
      "5":
        "1": "ROE"
        "2":
          "1": "&"
          "2": "x"
      "7":
        - "p"
        - null
        - "q"
  - "segment": "NK1"
    "fields": {}
  - "segment": "PID"
    "fields":
      "3":
        - null
        - "1": "a"
          "2": "b"
"#
    );
}

#[test]
fn behaviour_32_toml_has_a_table_for_each_segment() {
    assert_eq!(
        document("MSH|^~\\&|LAB\rPID|1||A1^^^H~B2^^^K||ROE^x|p~~q|a^b~c")
            .get(Format::Toml, Shape::Segments)
            .unwrap(),
        r#"[[segments]]
segment = "MSH"

[segments.fields]
1 = "|"
2 = "^~\\&"
3 = "LAB"

[[segments]]
segment = "PID"

[segments.fields]
1 = "1"
6 = ["p", "", "q"]
7 = [{ 1 = "a", 2 = "b" }, "c"]

[[segments.fields.3]]
1 = "A1"
4 = "H"

[[segments.fields.3]]
1 = "B2"
4 = "K"

[segments.fields.5]
1 = "ROE"
2 = "x"
"#
    );
}

#[test]
fn behaviour_32_numbers_are_in_the_order_of_numbers() {
    let json = with("PID|1||||||||||11^^^^^^^^^x")
        .get(Format::Json, Shape::Keyed)
        .unwrap();
    let order: Vec<usize> = ["\"1\": \"1\"", "\"11\"", "\"10\": \"x\""]
        .map(|key| json.find(key).unwrap())
        .to_vec();
    assert!(order.is_sorted(), "{json}");
}

#[test]
fn behaviour_33_an_empty_document_is_empty_in_all_formats() {
    let document = Document::new(Limits::default());
    for format in [Format::Hl7, Format::Json, Format::Yaml, Format::Toml] {
        for shape in SHAPES {
            assert_eq!(document.get(format, shape).unwrap(), "");
        }
    }
}

#[test]
fn behaviour_34_the_corpus_comes_back_from_every_format_and_shape() {
    for text in CORPUS {
        let mut document = document(text);
        assert_eq!(document.message().unwrap().to_string(), text);
        for format in STRUCTURED {
            for shape in SHAPES {
                let structured = document.get(format, shape).unwrap();
                assert_eq!(
                    document.set(&structured, format),
                    Ok(false),
                    "{text:?}\n{structured}"
                );
                assert_eq!(document.text(), text);
            }
        }
        // What the structure holds survives without the former bytes, too.
        for format in STRUCTURED {
            let structured = document.get(format, Shape::Segments).unwrap();
            let mut other = Document::new(Limits::default());
            if let Err(error) = other.set(&structured, format) {
                assert!(
                    error.to_string().contains("name of a segment"),
                    "{error}: {text:?}"
                );
                continue;
            }
            assert_eq!(
                other.get(format, Shape::Segments).unwrap(),
                structured,
                "{text:?}"
            );
        }
    }
}

#[test]
fn behaviour_34_hl7_goes_out_with_carriage_returns() {
    let text = "MSH|^~\\&|A\r\nPID|1\nNK1\r";
    assert_eq!(
        document(text).get(Format::Hl7, Shape::Segments).unwrap(),
        "MSH|^~\\&|A\rPID|1\rNK1\r"
    );
}

#[test]
fn a_change_in_structured_text_keeps_all_other_bytes() {
    let text = "MSH|^~\\&|A||\nPID|1||\\H\\x\\N\\^^||A&b&^c||\n\nOBR|1\nOBX|1|a|\nOBR|2\nOBX|2|b|";
    for format in STRUCTURED {
        for shape in SHAPES {
            let mut document = document(text);
            let structured = document.get(format, shape).unwrap();
            let edited = structured
                .replace("\\\\H\\\\x\\\\N", "\\\\H\\\\xyz\\\\N")
                .replace("\"c\"", "\"d|e\"");
            assert_eq!(document.set(&edited, format), Ok(true), "{edited}");
            assert_eq!(
                document.text(),
                text.replace("\\H\\x", "\\H\\xyz").replace("^c|", "^d\\F\\e|")
            );
        }
    }
}

#[test]
fn segments_can_be_added_removed_and_moved_in_structured_text() {
    let mut document = document("MSH|^~\\&\nOBR|1|\nOBX|1|\nOBX|2|\nOBX|3|");
    let set = |document: &mut Document, segments: serde_json::Value| {
        let mut all = vec![serde_json::json!({"segment": "MSH", "fields": {}})];
        all.extend(
            segments
                .as_array()
                .unwrap()
                .iter()
                .map(|segment| serde_json::json!({"segment": segment[0], "fields": {"1": segment[1]}})),
        );
        document
            .set(&serde_json::json!({"segments": all}).to_string(), Format::Json)
            .unwrap();
        document.text().strip_prefix("MSH|^~\\&\n").unwrap().to_owned()
    };
    let removed = set(
        &mut document,
        serde_json::json!([["OBR", "1"], ["OBX", "1"], ["OBX", "3"]]),
    );
    assert_eq!(removed, "OBR|1|\nOBX|1|\nOBX|3|");
    let added = set(
        &mut document,
        serde_json::json!([
            ["OBR", "1"],
            ["NTE", 7],
            ["OBX", "1"],
            ["OBX", "3"],
            ["ZZZ", null]
        ]),
    );
    assert_eq!(added, "OBR|1|\nNTE|7\nOBX|1|\nOBX|3|\nZZZ");
    let moved = set(&mut document, serde_json::json!([["OBX", "3"], ["OBR", "1"]]));
    assert_eq!(moved, "OBX|3|\nOBR|1|");
}

#[test]
fn keyed_text_takes_the_order_of_the_document() {
    let mut document = document("MSH|^~\\&\rOBR|1\rOBX|1\rOBR|2\rOBX|2");
    let keyed = r#"{"OBX": [{"1": "a"}, {"1": "b"}, {"1": "c"}], "MSH": {}, "OBR": [{"1": "1"}, {"1": "2"}], "NTE": {"1": "n"}}"#;
    document.set(keyed, Format::Json).unwrap();
    assert_eq!(
        document.text(),
        "MSH|^~\\&\rOBR|1\rOBX|a\rOBR|2\rOBX|b\rOBX|c\rNTE|n"
    );
    let mut fresh = Document::new(Limits::default());
    fresh.set(keyed, Format::Json).unwrap();
    assert_eq!(
        fresh.text(),
        "MSH|^~\\&\rOBX|a\rOBX|b\rOBX|c\rOBR|1\rOBR|2\rNTE|n"
    );
}

#[test]
fn separators_of_structured_text_count() {
    let mut document = with("PID|1||a^b|x*y");
    let json = r#"{"MSH": {"1": "*", "2": ":!%$"}, "PID": {"3": {"1": "a", "2": "b:c"}, "4": "x*y"}}"#;
    document.set(json, Format::Json).unwrap();
    assert_eq!(document.text(), "MSH*:!%$\rPID***a:b%S%c*x%F%y");
    for bad in [
        "\"1\": \"||\"",
        "\"2\": \"^^\"",
        "\"1\": \"A\"",
        "\"1\": {\"2\": \"|\"}",
    ] {
        let refused = document.set(&format!("{{\"MSH\": {{{bad}}}}}"), Format::Json);
        assert!(
            matches!(refused, Err(Error::NotAMessage(NotAMessage::Separators))),
            "{bad}: {refused:?}"
        );
    }
}

#[rstest]
#[case::numbers(
    Format::Json,
    r#"{"MSH": {}, "PID": {"1": 7, "2": 1.50, "3": true, "4": null, "5": 12345678901234567890123}}"#,
    "PID|7|1.50|true||12345678901234567890123"
)]
#[case::scalars(
    Format::Yaml,
    "MSH: {}\nPID:\n  1: 007\n  2: 1.50\n  3: yes\n  4: 1979-05-27\n  5: ~\n  6: null\n  7: 'null'\n  8:\n",
    "PID|007|1.50|yes|1979-05-27|||null"
)]
#[case::blocks(
    Format::Yaml,
    "MSH: {}\nPID:\n  5: |\n    a\n    b\n",
    "PID|||||a\\X0A\\b\\X0A\\"
)]
#[case::scalars(
    Format::Toml,
    "[MSH]\n[PID]\n1 = 1.50\n2 = true\n3 = 1979-05-27\n4 = 1_000\n5 = 0x1F\n6 = ''\n",
    "PID|1.50|true|1979-05-27|1_000|0x1F"
)]
#[case::tables(
    Format::Toml,
    "[[segments]]\nsegment='MSH'\n[[segments]]\nsegment='PID'\nfields.3 = [{1='a'}, 'b']\nfields.5.1.2='x'",
    "PID|||a~b||&x"
)]
fn scalars_are_the_text_that_is_written(#[case] format: Format, #[case] text: &str, #[case] segment: &str) {
    let mut document = Document::new(Limits::default());
    document.set(text, format).unwrap();
    assert_eq!(document.text(), format!("{MSH}\r{segment}"));
}

#[rstest]
#[case::no_json(Format::Json, "{\"MSH\": ")]
#[case::empty_json(Format::Json, "")]
#[case::list(Format::Json, "[]")]
#[case::words_as_keys(Format::Json, r#"{"MSH": {}, "PID": {"name": "x"}}"#)]
#[case::zero(Format::Json, r#"{"MSH": {}, "PID": {"0": "x"}}"#)]
#[case::twice(Format::Json, r#"{"MSH": {}, "PID": {"1": "x", "1": "y"}}"#)]
#[case::nested_list(Format::Json, r#"{"MSH": {}, "PID": {"1": [["x"]]}}"#)]
#[case::too_deep(Format::Json, r#"{"MSH": {}, "PID": {"1": {"1": {"1": {"1": "x"}}}}}"#)]
#[case::text_as_fields(Format::Json, r#"{"MSH": {}, "PID": "x"}"#)]
#[case::unnamed(Format::Json, r#"{"segments": [{"fields": {}}]}"#)]
#[case::name(Format::Json, r#"{"MSH": {}, "A|B": {}}"#)]
#[case::no_yaml(Format::Yaml, "MSH: [")]
#[case::alias(Format::Yaml, "MSH: &a {}\nPID: *a")]
#[case::documents(Format::Yaml, "MSH: {}\n---\nMSH: {}")]
#[case::empty_yaml(Format::Yaml, "")]
#[case::no_toml(Format::Toml, "[MSH")]
#[case::deep(Format::Toml, "MSH = {a={a={a={a={a={a={a={a={a={a='x'}}}}}}}}}}")]
fn behaviour_42_what_cannot_be_read_has_the_code_of_an_invalid_message(
    #[case] format: Format,
    #[case] text: &str,
) {
    let mut document = with("PID|1");
    let error = document.set(text, format).unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
    assert_eq!(error.code(), Some(-32004));
    assert_eq!(
        (document.text(), document.version()),
        (&*format!("{MSH}\rPID|1"), 0)
    );
}

#[rstest]
#[case(Format::Hl7, "", NotAMessage::Empty)]
#[case(Format::Hl7, "PID|1", NotAMessage::NoHeader)]
#[case(Format::Hl7, "FHS|^~\\&\rMSH|^~\\&", NotAMessage::NoHeader)]
#[case(Format::Hl7, "MSH", NotAMessage::Separators)]
#[case(Format::Hl7, "MSH||x", NotAMessage::Separators)]
#[case(Format::Hl7, "MSH|^~^&", NotAMessage::Separators)]
#[case(Format::Json, "{}", NotAMessage::NoHeader)]
#[case(Format::Json, "{\"segments\": []}", NotAMessage::NoHeader)]
#[case(Format::Json, "{\"PID\": {}}", NotAMessage::NoHeader)]
#[case(Format::Toml, "", NotAMessage::NoHeader)]
fn behaviour_42_what_is_no_message_is_an_answer(
    #[case] format: Format,
    #[case] text: &str,
    #[case] why: NotAMessage,
) {
    let mut document = with("PID|1");
    let error = document.set(text, format).unwrap_err();
    assert_eq!((error.code(), error), (None, Error::NotAMessage(why)));
    assert_eq!(document.version(), 0);
}

#[rstest]
#[case(Format::Json, "{\"MSH\": {},\n\"PID\": {\"5\": \"Roe\" \"Jane\"}}")]
#[case(Format::Yaml, "MSH: {}\nPID:\n  5: \"Roe\" Jane\n")]
#[case(Format::Toml, "[MSH]\n5 = \"Roe\" Jane\n")]
fn an_error_says_where_and_shows_no_value(#[case] format: Format, #[case] text: &str) {
    let error = with("PID|1").set(text, format).unwrap_err().to_string();
    assert!(
        error.contains("line") && !error.contains("Roe") && !error.contains("Jane"),
        "{error}"
    );
}

#[test]
fn far_keys_do_not_make_a_message_too_long() {
    let mut document = with("PID|1");
    let subs = serde_json::json!({"9999": "x"});
    let components: serde_json::Map<_, _> = (1..=2000).map(|n| (n.to_string(), subs.clone())).collect();
    let json = serde_json::json!({"MSH": {}, "PID": {"9999": components}});
    assert_eq!(
        document.set(&json.to_string(), Format::Json).unwrap_err().code(),
        Some(-32004)
    );
    assert_eq!(document.version(), 0);
}
