//! Tables of patches, and patches of arbitrary bytes.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// Applies a patch of one file to its content.
fn apply(content: &str, patch: &str) -> Result<String, String> {
    let files = read(patch)?;
    match &files[0].action {
        Action::Update { hunks, .. } => patched(content, hunks),
        Action::Add(content) => Ok(content.clone()),
        Action::Delete => Ok("gone".to_owned()),
    }
}

fn begin(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n")
}

#[rstest]
#[case::plain("a\nb\nc\n", "@@\n a\n-b\n+x\n c", "a\nx\nc\n")]
#[case::without_a_head("a\nb\nc\n", " a\n-b\n+x", "a\nx\nc\n")]
#[case::two_hunks("a\nb\nc\nd\n", "@@\n-a\n+1\n@@\n-d\n+4", "1\nb\nc\n4\n")]
#[case::anchored("f\n x\ng\n x\n", "@@ g\n- x\n+ y", "f\n x\ng\n y\n")]
#[case::anchored_twice(
    "c A\nf\n x\nc B\nf\n x\n",
    "@@ c B\n@@ f\n- x\n+ y",
    "c A\nf\n x\nc B\nf\n y\n"
)]
#[case::inserted_behind_an_anchor("a\nb\n", "@@ a\n+x", "a\nx\nb\n")]
#[case::appended("a\n", "+x", "a\nx\n")]
#[case::at_the_end("x\ny\nx\n", "-x\n+z\n*** End of File", "x\ny\nz\n")]
#[case::line_ends_are_kept("a\r\nb\r\n", "-b\n+x\n+y", "a\r\nx\r\ny\r\n")]
#[case::no_last_newline_is_kept("a\nb", "-a\n+x", "x\nb")]
#[case::blanks_at_ends("a  \nb\n", " a\n-b\n+x", "a  \nx\n")]
#[case::indentation("  a\n\tb\n", "-a\n+x", "  x\n\tb\n")]
#[case::indentation_of_a_block(
    "\tif a {\n\t\tb\n\t}\n",
    " if a {\n-    b\n+    c {\n+        d\n+    }\n }",
    "\tif a {\n\t\tc {\n\t\t    d\n\t\t}\n\t}\n"
)]
#[case::typographic_signs("say \u{201c}hi\u{201d}\n", "-say \"hi\"\n+say no", "say no\n")]
#[case::an_empty_line_without_its_blank("a\n\nb\n", " a\n\n-b\n+x", "a\n\nx\n")]
#[case::an_empty_file("", "+x", "x\n")]
fn a_hunk_finds_its_place(#[case] content: &str, #[case] body: &str, #[case] expected: &str) {
    assert_eq!(apply(content, &begin(body)).as_deref(), Ok(expected));
}

#[rstest]
#[case::missing("a\n", "-z\n+x", "hunk: these lines are not in the file")]
#[case::ambiguous("x\na\nx\n", "-x\n+y", "2 places")]
#[case::out_of_order(
    "a\nb\n",
    "@@\n-b\n+2\n@@\n-a\n+1",
    "hunk 2 of 2: these lines stand only before"
)]
#[case::no_anchor("a\n", "@@ nowhere\n-a\n+b", "the line after @@ does not stand")]
#[case::not_the_end("a\nb\n", "-a\n+x\n*** End of File", "not the last of the file")]
#[case::no_mark("a\n", "-a\nb", "starts with none of a blank, - and +")]
#[case::nothing("a\n", "", "changes nothing")]
fn a_hunk_without_a_place_says_why(#[case] content: &str, #[case] body: &str, #[case] part: &str) {
    let error = apply(content, &begin(body)).unwrap_err();
    assert!(error.contains(part), "{error}");
}

#[rstest]
#[case("", "changes no file")]
#[case("*** Begin Patch\n*** Update File: f\n-a\n", "was it cut off?")]
#[case("*** Begin Patch\nhello\n*** End Patch", "is expected")]
#[case("*** Begin Patch\n*** Add File: f\nx\n*** End Patch", "does not start with +")]
#[case("*** Begin Patch\n*** Delete File:\n*** End Patch", "names no file")]
#[case("@@ -1 +1 @@\n-a\n+b\n", "before any --- and +++")]
#[case("diff --git a/f b/f\nBinary files a/f and b/f differ\n", "binary")]
#[case("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "changes nothing")]
fn what_is_no_patch_says_why(#[case] text: &str, #[case] part: &str) {
    let error = read(text).unwrap_err();
    assert!(error.contains(part), "{error}");
}

#[test]
fn the_first_form_has_every_action() {
    let text = "Here it is:\n```\n*** Begin Patch\n*** Add File: new.txt\n+one\n+\n*** Delete File: old.txt\n\
                *** Update File: a.txt\n*** Move to: b/c.txt\n@@\n-x\n+y\n*** End Patch\n```\n";
    let files = read(text).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["new.txt", "old.txt", "a.txt"]);
    assert_eq!(files[0].action, Action::Add("one\n\n".to_owned()));
    assert_eq!(files[1].action, Action::Delete);
    assert!(
        matches!(&files[2].action, Action::Update { to: Some(to), hunks } if to == "b/c.txt" && hunks.len() == 1)
    );
}

#[test]
fn a_unified_diff_has_every_action() {
    let text = "diff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\
                \\ No newline at end of file\ndiff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n\
                @@ -1 +0,0 @@\n-x\ndiff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n\
                --- plain.txt\t2027-01-01\n+++ plain.txt\t2027-01-02\n@@ -1,2 +1,2 @@ fn f()\n a\n--- b\n+++ c\n";
    let files = read(text).unwrap();
    let told: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), &file.action))
        .collect();
    assert_eq!(told[0], ("new", &Action::Add("x".to_owned())));
    assert_eq!(told[1], ("old", &Action::Delete));
    assert_eq!(told[2].0, "from");
    assert!(matches!(told[2].1, Action::Update { to: Some(to), hunks } if to == "to" && hunks.is_empty()));
    assert_eq!(told[3].0, "plain.txt");
    assert_eq!(
        apply("a\n-- b\n", &text[text.find("--- plain").unwrap()..]).as_deref(),
        Ok("a\n++ c\n")
    );
}

#[rstest]
#[case::numbers_that_are_off("a\nx\nb\nx\nc\n", "@@ -5,9 +5,9 @@\n-x\n+y", "a\nx\nb\ny\nc\n")]
#[case::inserted_by_number("a\nb\n", "@@ -1,0 +2 @@\n+x", "a\nx\nb\n")]
#[case::the_end_loses_its_newline("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file", "b")]
#[case::the_end_gets_its_newline("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b", "b\n")]
fn a_unified_hunk_finds_its_place(#[case] content: &str, #[case] body: &str, #[case] expected: &str) {
    let patch = format!("--- a/f\n+++ b/f\n{body}\n");
    assert_eq!(apply(content, &patch).as_deref(), Ok(expected));
}

/// Lines that look like parts of patches.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "*** Begin Patch",
            "*** End Patch",
            "*** Add File: f",
            "*** Delete File: f",
            "*** Update File: f",
            "*** Move to: g",
            "*** End of File",
            "@@",
            "@@ a",
            "@@ -1,2 +1,2 @@",
            "@@ -0,0 +1 @@",
            "--- a/f",
            "+++ b/f",
            "--- /dev/null",
            "+++ /dev/null",
            "diff --git a/f b/f",
            "rename from f",
            "rename to \"\\303",
            "\\ No newline at end of file",
            " a",
            "-a",
            "+a",
            "",
            "-- a",
            "\u{2019}",
        ])
        .prop_map(str::to_owned),
        "[-+ @*\\\\/\"ab0-9\r]{0,12}",
    ]
}

/// Texts of a few lines from a small set.
fn content() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "", " a", "a ", "-- b", "c\t", "\u{201c}d\u{201d}"]);
    (prop::collection::vec(line, 0..12), any::<bool>(), any::<bool>()).prop_map(|(lines, ended, crlf)| {
        let end = if crlf { "\r\n" } else { "\n" };
        lines.join(end) + if ended { end } else { "" }
    })
}

proptest! {
    #[test]
    fn any_text_is_read_and_placed_without_harm(lines in prop::collection::vec(line(), 0..20), content in content()) {
        let text = lines.join("\n");
        if let Ok(files) = read(&text) {
            for file in files {
                if let Action::Update { hunks, .. } = file.action {
                    drop(patched(&content, &hunks));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&String::from_utf8_lossy(&bytes)));
    }

    /// A diff that the server shows can be applied as a patch.
    #[test]
    fn a_diff_of_ours_leads_from_the_one_to_the_other(before in content(), after in content()) {
        let (before, after) = (before.replace('\r', ""), after.replace('\r', ""));
        if let Some(patch) = bobbin_undo::unified("f", &before, &after)
            && !before.is_empty() && !after.is_empty()
        {
            prop_assert_eq!(apply(&before, &patch), Ok(after));
        }
    }
}
