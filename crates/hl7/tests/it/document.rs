//! Documents: setting, versions, undo within its bounds, what is saved.

use bobbin_hl7::{Document, Error, Format, Limits, NotAMessage, Patch, Shape, TextEdit};

use crate::support::{MSH, with};

/// The parameters as a host reads them: an absent format is the default.
#[derive(serde::Deserialize)]
struct SetParams {
    message: String,
    #[serde(default)]
    format: Format,
}

#[test]
fn behaviour_41_a_text_without_format_is_hl7() {
    let mut document = Document::new(Limits::default());
    let params: SetParams = serde_json::from_str(r#"{"message": "MSH|^~\\&|A\nPID|1\n"}"#).unwrap();
    document.set(&params.message, params.format).unwrap();
    assert_eq!(document.text(), "MSH|^~\\&|A\rPID|1\r");
}

#[test]
fn a_format_that_nobody_knows_is_refused() {
    let error = "xml".parse::<Format>().unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().contains("yaml")),
        (Some(-32602), true)
    );
}

#[test]
fn hl7_is_stored_with_carriage_returns_and_without_its_transport() {
    for text in [
        "MSH|^~\\&|A\r\nPID|1\nNK1\r",
        "\u{b}MSH|^~\\&|A\rPID|1\rNK1\r\u{1c}\r",
    ] {
        let mut document = with("PID|2");
        assert_eq!(document.set(text, Format::Hl7), Ok(true));
        assert_eq!(document.text(), "MSH|^~\\&|A\rPID|1\rNK1\r");
    }
}

#[test]
fn behaviour_43_a_call_is_one_step_of_undo() {
    let mut document = with("PID|1");
    let before = document.text().to_owned();
    document
        .patch(&[
            Patch::create("NK1"),
            Patch::set("NK1.2", "x"),
            Patch::set("PID.1", "9"),
        ])
        .unwrap();
    let patched = document.text().to_owned();
    document.set("MSH|^~\\&|B", Format::Hl7).unwrap();
    assert_eq!((document.undo_depth(), document.version()), ((2, 0), 2));
    assert!(document.undo());
    assert_eq!(document.text(), patched);
    assert!(document.undo());
    assert_eq!((document.text(), document.version()), (&*before, 4));
    assert!(!document.undo());
    assert!(document.redo());
    assert_eq!((document.text(), document.undo_depth()), (&*patched, (1, 1)));
    document.patch(&[Patch::set("PID.1", "3")]).unwrap();
    assert!(!document.redo(), "a new change ends what could be redone");
}

#[test]
fn nothing_done_is_no_step() {
    let mut document = with("PID|1");
    assert!(
        document
            .patch(&[Patch::remove("NK1"), Patch::set("PID.1", "1")])
            .unwrap()
            .success
    );
    let same = document.text().to_owned();
    assert_eq!(document.set(&same, Format::Hl7), Ok(false));
    assert_eq!(
        (document.version(), document.undo_depth(), document.is_dirty()),
        (0, (0, 0), false)
    );
}

#[test]
fn a_document_is_dirty_until_it_is_as_saved() {
    let mut document = with("PID|1");
    document.patch(&[Patch::set("PID.1", "2")]).unwrap();
    assert!(document.is_dirty());
    document.mark_saved();
    assert!(!document.is_dirty());
    document.undo();
    assert!(document.is_dirty());
    document.redo();
    assert!(!document.is_dirty());
    document.undo();
    document.patch(&[Patch::set("PID.1", "3")]).unwrap();
    assert!(document.is_dirty());
}

#[test]
fn an_edit_on_an_old_version_is_a_conflict() {
    let mut document = with("PID|1");
    let edit = |start, end, text: &str| TextEdit {
        start,
        end,
        text: text.to_owned(),
    };
    assert_eq!(
        document.edit(0, &[edit(13, 14, "2"), edit(14, 14, "|x")]),
        Ok(true)
    );
    assert_eq!(document.text(), format!("{MSH}\rPID|2|x"));
    assert_eq!(
        document.edit(0, &[edit(0, 0, "x")]),
        Err(Error::Conflict { given: 0, current: 1 })
    );
    assert_eq!(document.expect_version(1), Ok(()));
    assert_eq!(
        document.edit(1, &[edit(0, 3, ""), edit(90, 91, "")]),
        Err(Error::Range { start: 90, end: 91 })
    );
    assert_eq!(
        document.edit(1, &[edit(4, 3, "")]),
        Err(Error::Range { start: 4, end: 3 })
    );
    assert_eq!((document.version(), document.undo_depth()), (1, (1, 0)));
}

#[test]
fn what_needs_a_message_says_so_while_a_user_types() {
    let mut document = with("PID|1");
    let text = document.text().to_owned();
    document
        .edit(
            0,
            &[TextEdit {
                start: 0,
                end: 1,
                text: String::new(),
            }],
        )
        .unwrap();
    let error = document.patch(&[Patch::set("PID.1", "2")]).unwrap_err();
    assert_eq!(
        (error.code(), error),
        (Some(-32003), Error::NoMessage(NotAMessage::NoHeader))
    );
    let error = document.get(Format::Json, Shape::Segments).unwrap_err();
    assert_eq!(error.code(), Some(-32603));
    document
        .edit(
            1,
            &[TextEdit {
                start: 0,
                end: 0,
                text: "M".to_owned(),
            }],
        )
        .unwrap();
    assert_eq!(document.text(), text);
}

#[test]
fn a_patch_without_document_has_its_code() {
    let error = Document::new(Limits::default()).patch(&[]).unwrap_err();
    assert_eq!(
        (error.code(), error),
        (Some(-32003), Error::NoMessage(NotAMessage::Empty))
    );
}

#[test]
fn behaviour_54_what_cannot_be_converted_is_sent_as_what_it_is() {
    let document = with("PID|1");
    assert_eq!(document.get_or_raw(Format::Yaml, Shape::Segments).0, Format::Yaml);
    let document = crate::support::document("no\nmessage");
    assert_eq!(
        document.get_or_raw(Format::Json, Shape::Keyed),
        (Format::Hl7, "no\rmessage".to_owned())
    );
}

#[test]
fn undo_is_bounded_in_bytes() {
    let limits = Limits {
        max_undo_bytes: 4096,
        ..Limits::default()
    };
    let mut document = Document::open(format!("{MSH}\rPID|1").as_bytes(), limits).unwrap();
    for n in 0..1000 {
        document
            .patch(&[Patch::set("PID.3", format!("{n:0100}"))])
            .unwrap();
        assert!(document.undo_bytes() <= 4096);
    }
    assert!(document.undo_depth().0 > 5);
    document
        .patch(&[Patch::set("PID.5", "x".repeat(10_000))])
        .unwrap();
    assert_eq!(
        document.undo_depth(),
        (1, 0),
        "the newest step can be undone, however large"
    );
    assert!(document.undo());
    assert_eq!(document.text(), format!("{MSH}\rPID|1||{:0100}", 999));
}

#[test]
fn texts_and_calls_have_a_limit() {
    let limits = Limits {
        max_text_bytes: 100,
        max_changes: 2,
        ..Limits::default()
    };
    let long = format!("{MSH}\rPID|{}", "x".repeat(100));
    assert_eq!(
        Document::open(long.as_bytes(), limits).unwrap_err().code(),
        Some(-32004)
    );
    let mut document = Document::open(format!("{MSH}\rPID|1").as_bytes(), limits).unwrap();
    assert_eq!(
        document.set(&long, Format::Hl7),
        Err(Error::TooLarge { limit: 100 })
    );
    assert_eq!(
        document.set(&"x".repeat(1000), Format::Json),
        Err(Error::TooLarge { limit: 100 })
    );
    let edit = TextEdit {
        start: 0,
        end: 0,
        text: "x".repeat(100),
    };
    assert_eq!(document.edit(0, &[edit]), Err(Error::TooLarge { limit: 100 }));
    let set = Patch::set("PID.1", "x".repeat(90));
    let report = document.patch(&[set.clone(), Patch::set("PID.1", "2")]).unwrap();
    assert_eq!((report.patches_applied, report.errors[0].index), (1, 0));
    assert_eq!(
        document
            .patch(&[set.clone(), set.clone(), set])
            .unwrap_err()
            .code(),
        Some(-32602)
    );
}
