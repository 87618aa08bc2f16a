//! Files: opened in any encoding, saved in the same.

use bobbin_hl7::{Document, Encoding, Limits, Patch};
use rstest::rstest;

fn file(charset: &str, name: &[u8]) -> Vec<u8> {
    [
        format!("MSH|^~\\&||||||||||||||||{charset}|\rPID|||||").as_bytes(),
        name,
        b"\r",
    ]
    .concat()
}

#[rstest]
#[case::utf8("", "M\u{fc}ller".as_bytes(), "UTF-8", "M\u{fc}ller")]
#[case::nothing_declared("", b"M\xfcller", "windows-1252", "M\u{fc}ller")]
#[case::latin_1("8859/1", b"M\xfcller", "windows-1252", "M\u{fc}ller")]
#[case::latin_2("8859/2", b"\xa3ukasz", "ISO-8859-2", "\u{141}ukasz")]
#[case::cyrillic(
    "8859/5~ASCII",
    b"\xb8\xb2\xb0\xbd",
    "ISO-8859-5",
    "\u{418}\u{412}\u{410}\u{41d}"
)]
#[case::utf8_under_another_name("8859/1", "M\u{fc}ller".as_bytes(), "UTF-8", "M\u{fc}ller")]
#[case::chinese("GB 18030-2000", b"\xc1\xaa\xcd\xa8", "gb18030", "\u{8054}\u{901a}")]
#[case::korean("KS X 1001", b"\xb1\xe8", "EUC-KR", "\u{ae40}")]
#[case::japanese("ISO IR87", b"\x1b$B;3\x1b(B", "ISO-2022-JP", "\u{5c71}")]
#[case::a_lie("UNICODE UTF-16", "M\u{fc}ller".as_bytes(), "UTF-8", "M\u{fc}ller")]
fn a_file_is_saved_in_the_encoding_it_came_in(
    #[case] charset: &str,
    #[case] name: &[u8],
    #[case] encoding: &str,
    #[case] text: &str,
) {
    let file = file(charset, name);
    let mut document = Document::open(&file, Limits::default()).unwrap();
    assert_eq!(
        (document.encoding().name(), document.encoding().has_mark()),
        (encoding, false)
    );
    assert!(document.text().ends_with(&format!("|||||{text}\r")));
    assert_eq!(document.to_bytes().unwrap(), file);
    document.patch(&[Patch::set("PID.1", "1")]).unwrap();
    let at = file.windows(4).position(|w| w == b"PID|").unwrap() + 4;
    assert_eq!(
        document.to_bytes().unwrap(),
        [&file[..at], b"1", &file[at..]].concat()
    );
}

#[test]
fn a_byte_order_mark_is_saved_again() {
    let text = "MSH|^~\\&|M\u{fc}\u{1F600}\r";
    let utf16: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
    for (file, name) in [
        ([b"\xef\xbb\xbf", text.as_bytes()].concat(), "UTF-8"),
        (
            utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            "UTF-16LE",
        ),
        (
            utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            "UTF-16BE",
        ),
    ] {
        let document = Document::open(&file, Limits::default()).unwrap();
        assert_eq!(
            (
                document.text(),
                document.encoding().name(),
                document.encoding().has_mark()
            ),
            (text, name, true)
        );
        assert_eq!(document.to_bytes().unwrap(), file);
    }
}

#[test]
fn a_character_that_the_file_cannot_have_is_named() {
    let mut document = Document::open(&file("8859/1", b"M\xfcller"), Limits::default()).unwrap();
    document.patch(&[Patch::set("PID.5.2", "\u{141}ukasz")]).unwrap();
    let error = document.to_bytes().unwrap_err();
    assert_eq!((error.character, error.encoding), ('\u{141}', "windows-1252"));
    document.set_encoding(Encoding::UTF_8);
    assert_eq!(document.to_bytes().unwrap(), document.text().as_bytes());
    document.mark_saved();
    document.set_encoding(Encoding::of_table_0211("8859/2").unwrap());
    assert!(document.is_dirty(), "the file has other bytes");
    assert_eq!(Encoding::of_table_0211("ISO IR6666"), None);
}
