//! A file, what is done with it, and the text of a format: cut from one input at zero bytes.

use bobbin_hl7::{Document, Format, Limits, Patch, Shape};

const FORMATS: [Format; 4] = [Format::Hl7, Format::Json, Format::Yaml, Format::Toml];

/// HL7: opening and saving changes no byte, the structured formats come back, undo takes back exactly.
pub fn hl7(data: &[u8]) {
    let mut parts = data.splitn(4, |byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (file, path, value, other) = (next(), next(), next(), next());
    let limits = Limits {
        max_text_bytes: 1 << 16,
        max_undo_bytes: 1 << 18,
        max_changes: 8,
    };
    let Ok(mut document) = Document::open(file, limits) else {
        return;
    };
    assert_eq!(
        document.to_bytes().expect("what was decoded can be encoded"),
        file
    );
    let text = document.text().to_owned();

    for format in FORMATS {
        for shape in [Shape::Segments, Shape::Keyed] {
            if let Ok(structured) = document.get(format, shape)
                && format != Format::Hl7
                && let Ok(changed) = document.set(&structured, format)
            {
                assert!(!changed, "{structured}");
            }
        }
    }

    let path = String::from_utf8_lossy(path);
    let value = String::from_utf8_lossy(value);
    let segment = path.split(['.', '-']).next().unwrap_or_default();
    let patches = [
        Patch::set(path.clone(), value.clone()),
        Patch::create(segment),
        Patch {
            create: true,
            ..Patch::set(path.clone(), value.clone())
        },
        Patch::remove(segment),
    ];
    for patch in &patches {
        if document.patch(std::slice::from_ref(patch)).is_ok() {
            let message = document.message().expect("a patch leaves a message");
            assert_eq!(message.to_string(), document.text());
        }
    }
    for format in FORMATS {
        // Refused or not, nothing may panic.
        let _refused = document.set(&String::from_utf8_lossy(other), format);
        assert!(document.text().len() <= limits.max_text_bytes);
    }
    while document.undo() {}
    assert_eq!(document.text(), text);
    assert!(!document.is_dirty());
}
