//! The user's page on security names tests; each of them is there.

#[test]
fn each_test_that_the_security_page_names_is_there() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(top.join("docs/security.md")).unwrap();
    let mut named = 0;
    for code in page.split('`').skip(1).step_by(2) {
        let Some((module, test)) = code.split_once(": ") else {
            continue;
        };
        let file = top.join(format!("tests/attacks/{module}.rs"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{code}: {error}"));
        assert!(text.contains(&format!("fn {test}(")), "{code}");
        named += 1;
    }
    assert!(named > 25, "{named}");
}
