//! Encodings of files: a file is read in the encoding it is in and written in the same, byte for byte.
//!
//! An encoding is taken only if writing gives the same bytes again. The last one tried, windows-1252, has a character
//! for every byte, so every file can be opened and saved.

use encoding_rs::{ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The encoding of a file, with or without a byte order mark.
///
/// ```
/// use bobbin_hl7::{Document, Limits};
///
/// let file = b"MSH|^~\\&||||||||||||||||8859/1\rPID|||||M\xfcller";
/// let document = Document::open(file, Limits::default())?;
/// assert!(document.text().ends_with("M\u{fc}ller"));
/// assert_eq!(document.to_bytes().unwrap(), file);
/// # Ok::<(), bobbin_hl7::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    encoding: &'static encoding_rs::Encoding,
    mark: bool,
}

/// A character is not in the encoding of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{character:?} is not in {encoding}, the encoding of the file; save it as UTF-8 and set MSH-18")]
pub struct EncodeError {
    /// The first such character.
    pub character: char,
    /// The encoding's name.
    pub encoding: &'static str,
}

impl Default for Encoding {
    fn default() -> Self {
        Self::UTF_8
    }
}

impl Encoding {
    /// UTF-8 without a byte order mark, in which new documents are.
    pub const UTF_8: Self = Self {
        encoding: UTF_8,
        mark: false,
    };

    /// Returns the encoding's name, as the WHATWG gives it.
    pub fn name(&self) -> &'static str {
        self.encoding.name()
    }

    /// Returns the encoding with this name, or UTF-8 if there is none.
    pub(crate) fn named(name: &str, mark: bool) -> Self {
        let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap_or(UTF_8);
        Self { encoding, mark }
    }

    /// Returns whether the file starts with a byte order mark.
    pub const fn has_mark(&self) -> bool {
        self.mark
    }

    /// Returns the encoding that a value of MSH-18 names (HL7 table 0211), if it is a known one.
    pub fn of_table_0211(code: &str) -> Option<Self> {
        let label = match code.trim() {
            "ASCII" => "us-ascii",
            "UNICODE" | "UNICODE UTF-8" => "utf-8",
            "GB 18030-2000" => "gb18030",
            "KS X 1001" => "euc-kr",
            "CNS 11643-1992" | "BIG-5" => "big5",
            "ISO IR87" | "ISO IR159" => "iso-2022-jp",
            code => return Self::of_label(&code.replacen("8859/", "iso-8859-", 1)),
        };
        Self::of_label(label)
    }

    fn of_label(label: &str) -> Option<Self> {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes())?;
        // A header that says so in bytes of ASCII is in none of the others.
        let readable = encoding.is_ascii_compatible() || encoding == ISO_2022_JP;
        readable.then_some(Self {
            encoding,
            mark: false,
        })
    }

    /// Returns text as bytes of this encoding.
    ///
    /// # Errors
    /// [`EncodeError`] names the first character that the encoding does not have.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let mark = if self.mark { "\u{feff}" } else { "" };
        let units = || mark.encode_utf16().chain(text.encode_utf16());
        if self.encoding == UTF_16LE {
            return Ok(units().flat_map(u16::to_le_bytes).collect());
        }
        if self.encoding == UTF_16BE {
            return Ok(units().flat_map(u16::to_be_bytes).collect());
        }
        let (bytes, _, lost) = self.encoding.encode(text);
        if lost {
            let character = text
                .chars()
                .find(|c| self.encoding.encode(c.encode_utf8(&mut [0; 4])).2);
            return Err(EncodeError {
                character: character.unwrap_or_default(),
                encoding: self.name(),
            });
        }
        // Only the encodings of Unicode have marks.
        Ok([mark.as_bytes(), &bytes].concat())
    }

    fn decode(self, bytes: &[u8]) -> Option<String> {
        let text = self
            .encoding
            .decode_without_bom_handling_and_without_replacement(bytes)?;
        Some(text.into_owned())
    }
}

/// Returns the text of a file and its encoding.
///
/// The order: a byte order mark; a multi-byte encoding named in MSH-18; UTF-8; a single-byte one named in MSH-18, since
/// UTF-8 is often sent under the name of another and hardly ever looks like one by chance; windows-1252.
pub(crate) fn decode(bytes: &[u8]) -> (String, Encoding) {
    let marked =
        encoding_rs::Encoding::for_bom(bytes).map(|(encoding, len)| (Encoding { encoding, mark: true }, len));
    let named = declared(bytes);
    let multi = named.filter(|named| !named.encoding.is_single_byte() && named.encoding != UTF_8);
    let candidates = [
        marked,
        multi.map(|e| (e, 0)),
        Some((Encoding::UTF_8, 0)),
        named.map(|e| (e, 0)),
    ];
    for (encoding, mark) in candidates.into_iter().flatten() {
        if let Some(text) = encoding.decode(&bytes[mark..])
            && encoding.encode(&text).is_ok_and(|again| again == bytes)
        {
            return (text, encoding);
        }
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    (
        text.into_owned(),
        Encoding {
            encoding: WINDOWS_1252,
            mark: false,
        },
    )
}

/// Returns the encoding that MSH-18 names, read from the bytes as far as they are ASCII.
fn declared(bytes: &[u8]) -> Option<Encoding> {
    let line = bytes.split(|b| matches!(b, b'\r' | b'\n')).next()?;
    let rest = line.strip_prefix(b"MSH")?;
    let (separator, rest) = rest.split_first()?;
    // MSH-2 is the first part, so MSH-18 is the one with index 16.
    let field = rest.split(|b| b == separator).nth(16)?;
    let repetition = *rest.get(1)?;
    let first = field.split(|b| *b == repetition).next()?;
    Encoding::of_table_0211(str::from_utf8(first).ok()?)
}
