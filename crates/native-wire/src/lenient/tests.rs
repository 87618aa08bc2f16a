//! The leniency rules, as tables.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::*;
use crate::Timestamp;
use crate::handshake::types::{ClientRequestId, InitializeParams};
use crate::thread::params::ThreadStartParams;
use crate::turn::input_types::InputPart;
use crate::turn::params::{TurnInterruptParams, TurnStartParams};
use bobbin_model::Json;

/// One member of every kind that decoding treats differently.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Sample {
    text_value: String,
    flag: bool,
    count: u32,
    signed: i64,
    ratio: f64,
    mode: Option<crate::thread::params::SubscribeMode>,
    inner: Option<Box<Sample>>,
    list: Vec<u8>,
    by_key: BTreeMap<String, u64>,
    arguments: Option<Json>,
    at: Option<Timestamp>,
    key: Option<ClientRequestId>,
}

fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, DecodeError> {
    params(Some(serde_json::from_str::<&RawValue>(text).unwrap()))
}

fn sentence(text: &str) -> String {
    read::<Sample>(text).unwrap_err().to_string()
}

#[rstest]
#[case(None)]
#[case(Some("null"))]
#[case(Some("{}"))]
#[case(Some(" { } "))]
fn absent_and_null_params_count_as_an_empty_object(#[case] text: Option<&str>) {
    let raw = text.map(|text| serde_json::from_str::<&RawValue>(text).unwrap());
    assert_eq!(params::<Sample>(raw), Ok(Sample::default()));
}

#[rstest]
#[case(r#"{"textValue":"x"}"#)]
#[case(r#"{"TextValue":"x"}"#)]
#[case(r#"{"TEXTVALUE":"x"}"#)]
#[case(r#"{"textvalue":"x"}"#)]
#[case(r#"{"text\u0056alue":"x"}"#)]
fn member_names_match_in_any_case(#[case] text: &str) {
    assert_eq!(read::<Sample>(text).unwrap().text_value, "x");
}

#[test]
fn member_names_match_in_any_case_at_every_level() {
    let text = r#"{"Identity":{"ChannelName":"kettle","USERID":"u-3"},"Config":{"Model":"m-1"},
        "DynamicTools":[{"Name":"boil","Description":"d","InputSchema":{"Type":"object"},
            "Approval":{"Kind":"shell","TargetArgument":"T"}}]}"#;
    let params: ThreadStartParams = read(text).unwrap();
    assert_eq!(params.identity.channel_name, "kettle");
    assert_eq!(params.identity.user_id.as_deref(), Some("u-3"));
    assert_eq!(params.config.unwrap().model.as_deref(), Some("m-1"));
    let tool = &params.dynamic_tools.unwrap()[0];
    assert_eq!(tool.input_schema.get(), r#"{"Type":"object"}"#);
    assert_eq!(tool.approval.as_ref().unwrap().target_argument, "T");
}

#[test]
fn the_parts_of_a_union_follow_the_same_rules() {
    let text = r#"{"ThreadId":"t","Input":[{"Type":"text","Text":"hi"},{"TYPE":"hologram","N":1.0}]}"#;
    let params: TurnStartParams = read(text).unwrap();
    assert_eq!(params.input[0], InputPart::text("hi"));
    assert_eq!(
        params.input[1],
        InputPart::Unknown(serde_json::from_str(r#"{"TYPE":"hologram","N":1.0}"#).unwrap())
    );
}

#[test]
fn keys_of_a_map_are_left_alone() {
    let sample: Sample = read(r#"{"ByKey":{"Count":"3","count":4}}"#).unwrap();
    assert_eq!(
        sample.by_key,
        BTreeMap::from([("Count".to_owned(), 3), ("count".to_owned(), 4)])
    );
}

#[test]
fn opaque_json_is_left_alone() {
    let given = r#"{"Z":1e2,"a":1.50,"big":123456789012345678901234567890,"Count":"7","u":"\u0041"}"#;
    let sample: Sample = read(&format!(r#"{{"Arguments":{given}}}"#)).unwrap();
    assert_eq!(sample.arguments.unwrap().get(), given);
}

#[rstest]
#[case(r#"{"count":7}"#)]
#[case(r#"{"count":"7"}"#)]
#[case(r#"{"count":" 7 "}"#)]
fn numbers_may_come_as_text(#[case] text: &str) {
    assert_eq!(read::<Sample>(text).unwrap().count, 7);
}

#[rstest]
#[case("-12", -12)]
#[case(r#""-12""#, -12)]
#[case("9007199254740993", 9_007_199_254_740_993)]
#[case(r#""-9223372036854775808""#, i64::MIN)]
fn integers_keep_every_digit(#[case] given: &str, #[case] expected: i64) {
    assert_eq!(
        read::<Sample>(&format!(r#"{{"signed":{given}}}"#))
            .unwrap()
            .signed,
        expected
    );
}

#[rstest]
#[case("0.25", 0.25)]
#[case(r#""2.5e-1""#, 0.25)]
#[case("3", 3.0)]
fn fractions_may_come_as_text_and_without_a_point(#[case] given: &str, #[case] expected: f64) {
    let ratio = read::<Sample>(&format!(r#"{{"ratio":{given}}}"#)).unwrap().ratio;
    assert!((ratio - expected).abs() < f64::EPSILON);
}

#[test]
fn a_member_that_is_null_counts_as_absent() {
    let text = r#"{"textValue":null,"flag":null,"count":null,"mode":null,"list":null,"arguments":null}"#;
    assert_eq!(read::<Sample>(text), Ok(Sample::default()));
}

#[test]
fn unknown_members_are_ignored_whatever_they_hold() {
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let text = format!(r#"{{"someday":{deep},"x":{{"textValue":1}},"count":1}}"#);
    assert_eq!(read::<Sample>(&text).unwrap().count, 1);
}

#[rstest]
#[case(r#"{"textValue":3}"#, "'textValue' must be a string.")]
#[case(r#"{"TextValue":{}}"#, "'textValue' must be a string.")]
#[case(r#"{"flag":"true"}"#, "'flag' must be true or false.")]
#[case(r#"{"flag":1}"#, "'flag' must be true or false.")]
#[case(r#"{"count":"seven"}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"count":""}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"count":-1}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"count":1.5}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"count":4294967296}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"count":true}"#, "'count' must be a non-negative integer.")]
#[case(r#"{"signed":[]}"#, "'signed' must be an integer.")]
#[case(r#"{"ratio":"much"}"#, "'ratio' must be a number.")]
#[case(r#"{"mode":"rewind"}"#, "'mode' must be one of 'replay', 'snapshot'.")]
#[case(r#"{"mode":7}"#, "'mode' must be a string.")]
#[case(r#"{"inner":[]}"#, "'inner' must be an object.")]
#[case(
    r#"{"inner":{"list":[1,"x"]}}"#,
    "'inner.list[1]' must be a non-negative integer."
)]
#[case(r#"{"list":{}}"#, "'list' must be an array.")]
#[case(r#"{"byKey":[]}"#, "'byKey' must be an object.")]
#[case(r#"{"byKey":{"a":"b"}}"#, "'byKey.a' must be a non-negative integer.")]
#[case(r#"{"at":"soon"}"#, "'at' must be an RFC 3339 time.")]
#[case(r#"{"key":""}"#, "'key' must be a string of 1 to 128 characters.")]
#[case(r#"{"count":1,"Count":2}"#, "'count' is given more than once.")]
#[case(r#"{"textValue":"\ud800"}"#, "'textValue' must be valid Unicode text.")]
#[case("[]", "'params' must be an object.")]
#[case(r#""x""#, "'params' must be an object.")]
#[case("7", "'params' must be an object.")]
fn a_wrong_type_is_named_in_one_sentence(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(sentence(text), expected);
}

#[test]
fn a_missing_member_is_named_with_its_place() {
    let error = |text| read::<ThreadStartParams>(text).unwrap_err().to_string();
    assert_eq!(error("{}"), "'identity' is required.");
    assert_eq!(error(r#"{"identity":{}}"#), "'identity.channelName' is required.");
    assert_eq!(
        error(r#"{"identity":{"channelName":null}}"#),
        "'identity.channelName' is required."
    );
    let error = read::<InitializeParams>(r#"{"clientInfo":{"name":"x"}}"#).unwrap_err();
    assert_eq!(error.path(), "clientInfo.version");
}

#[test]
fn errors_inside_a_union_name_the_part() {
    let error = read::<TurnStartParams>(r#"{"threadId":"t","input":[{"type":"text"}]}"#).unwrap_err();
    assert_eq!(error.to_string(), "'input[0]': 'text' is required.");
}

#[test]
fn errors_never_quote_values_and_cut_long_keys() {
    let key = "k".repeat(100_000);
    let error = sentence(&format!(r#"{{"byKey":{{"{key}":"hunter2"}}}}"#));
    assert!(!error.contains("hunter2"));
    assert!(error.len() < 200, "{} bytes", error.len());
}

#[test]
fn a_result_that_is_no_object_is_called_a_result() {
    let raw: &RawValue = serde_json::from_str("[]").unwrap();
    assert_eq!(
        result::<Sample>(raw).unwrap_err().to_string(),
        "'result' must be an object."
    );
}

#[test]
fn absent_capabilities_have_the_defaults_of_the_protocol() {
    let text =
        r#"{"clientInfo":{"name":"x","version":"1"},"capabilities":{"ApprovalSupport":false,"new":1}}"#;
    let capabilities = read::<InitializeParams>(text).unwrap().capabilities;
    assert!(!capabilities.approval_support);
    assert!(capabilities.streaming_support && capabilities.config_change);
    assert!(!capabilities.tool_execution_lifecycle && !capabilities.event_cursors);
}

#[test]
fn a_client_request_id_has_1_to_128_characters() {
    let with = |id: &str| {
        read::<TurnInterruptParams>(&format!(
            r#"{{"threadId":"t","turnId":"","clientRequestId":"{id}"}}"#
        ))
    };
    assert_eq!(with("a").unwrap().client_request_id, ClientRequestId::new("a"));
    assert!(with(&"ü".repeat(128)).is_ok());
    assert!(with(&"ü".repeat(129)).is_err());
    assert!(with("").is_err());
}

/// Changes the case of each member name, and writes integers as text on request.
fn disguise(value: serde_json::Value, upper: &mut impl Iterator<Item = bool>) -> serde_json::Value {
    use serde_json::Value;
    let mut recase = |name: &str| -> String {
        name.chars()
            .map(|c| {
                if upper.next() == Some(true) {
                    c.to_ascii_uppercase()
                } else {
                    c
                }
            })
            .collect()
    };
    match value {
        Value::Object(members) => {
            let named: Vec<_> = members
                .into_iter()
                .map(|(name, value)| (recase(&name), name, value))
                .collect();
            let disguised = named.into_iter().map(|(given, name, value)| {
                let left_alone = matches!(name.as_str(), "arguments" | "byKey");
                (given, if left_alone { value } else { disguise(value, upper) })
            });
            Value::Object(disguised.collect())
        }
        Value::Number(number) if upper.next() == Some(true) => Value::String(number.to_string()),
        other => other,
    }
}

fn sample() -> impl Strategy<Value = Sample> {
    let leaf = (
        ".*",
        any::<bool>(),
        any::<u32>(),
        any::<i64>(),
        any::<i32>(),
        any::<Vec<u8>>(),
    );
    (
        leaf,
        proptest::collection::btree_map(".{0,8}", any::<u64>(), 0..4),
    )
        .prop_map(|(leaf, by_key)| {
            let (text_value, flag, count, signed, quarters, list) = leaf;
            let ratio = f64::from(quarters) / 4.0;
            let arguments = Some(Json::of(&by_key).unwrap());
            Sample {
                text_value,
                flag,
                count,
                signed,
                ratio,
                list,
                by_key,
                arguments,
                ..Sample::default()
            }
        })
}

proptest! {
    #[test]
    fn what_serde_reads_is_read_the_same(inner in sample(), outer in sample()) {
        let sample = Sample { inner: Some(Box::new(inner)), ..outer };
        let text = serde_json::to_string(&sample).unwrap();
        prop_assert_eq!(&read::<Sample>(&text).unwrap(), &serde_json::from_str::<Sample>(&text).unwrap());
    }

    #[test]
    fn case_of_names_and_spelling_of_numbers_change_nothing(
        inner in sample(),
        outer in sample(),
        upper in proptest::collection::vec(any::<bool>(), 512),
    ) {
        let sample = Sample { inner: Some(Box::new(inner)), ..outer };
        let disguised = disguise(serde_json::to_value(&sample).unwrap(), &mut upper.into_iter());
        prop_assert_eq!(read::<Sample>(&disguised.to_string()).unwrap(), sample);
    }

    #[test]
    fn no_json_brings_decoding_down(text in r#"[\[\]{}",:0-9a-z\\ .-]{0,64}"#) {
        if let Ok(raw) = serde_json::from_str::<&RawValue>(&text) {
            drop(params::<Sample>(Some(raw)));
            drop(params::<TurnStartParams>(Some(raw)));
        }
    }
}
