use super::*;

fn plugin(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (dir, root)
}

#[test]
fn both_layouts_are_read_with_what_lies_beside_them() {
    let ours = r#"{"schemaVersion":1,"id":"tea-log","displayName":"Tea log","skills":"./more/",
        "interface":{"displayName":"Tea log","category":"Coding","logo":"./logo.png","newer":1}}"#;
    let theirs = r#"{"name":"tea-log","version":"1.2.0","skills":["./more"],"author":{"name":"A"}}"#;
    for (place, manifest) in PLACES.iter().zip([ours, theirs]) {
        let servers = r#"{"pantry":{"command":"${CLAUDE_PLUGIN_ROOT}/serve","cwd":"./"}}"#;
        let (_dir, root) = plugin(&[
            (place, manifest),
            ("skills/brew/SKILL.md", "Brew."),
            ("more/pour/SKILL.md", "Pour."),
            (".mcp.json", servers),
            ("logo.png", "x"),
        ]);
        let mut problems = Vec::new();
        let found = read(&root, &mut problems).unwrap();
        assert_eq!(problems, []);
        assert_eq!((found.id.as_str(), found.texts.skills.len()), ("tea-log", 2));
        assert_eq!(found.servers[0].name, "tea-log:pantry");
        let access = format!("{:?}", found.servers[0].access);
        assert!(access.contains(&format!("{}/serve", root.display())), "{access}");
        if let Some(interface) = found.interface {
            assert_eq!(
                interface.logo_data_url.as_deref(),
                Some("data:image/png;base64,eA==")
            );
        }
    }
}

#[test]
fn what_cannot_be_used_is_named_and_breaks_nothing_else() {
    for (place, manifest, code) in [
        (PLACES[0], "{", "InvalidPluginManifest"),
        (
            PLACES[0],
            r#"{"schemaVersion":2,"id":"a","displayName":"A"}"#,
            "UnsupportedSchemaVersion",
        ),
        (
            PLACES[0],
            r#"{"schemaVersion":1,"id":"../a","displayName":"A"}"#,
            "InvalidPluginId",
        ),
        (PLACES[1], r#"{"name":"a:b"}"#, "InvalidPluginId"),
        (PLACES[1], r#"{"name":"a","skills":7}"#, "InvalidPluginManifest"),
    ] {
        let (_dir, root) = plugin(&[(place, manifest)]);
        let mut problems = Vec::new();
        assert!(read(&root, &mut problems).is_none(), "{manifest}");
        assert_eq!(problems[0].code, code, "{manifest}");
    }
    let (_dir, root) = plugin(&[
        (
            PLACES[1],
            r#"{"name":"a","skills":"../out","mcpServers":"./no.json","commands":"./none"}"#,
        ),
        ("agents/x.md", ""),
    ]);
    let mut problems = Vec::new();
    assert!(read(&root, &mut problems).is_some());
    let codes: Vec<_> = problems.iter().map(|problem| problem.code.as_str()).collect();
    let expected = [
        "UnsupportedPluginPart",
        "InvalidPluginPath",
        "MissingPluginPath",
        "InvalidPluginMcpConfig",
        "MissingPluginCapabilities",
    ];
    assert_eq!(codes, expected);
}

#[test]
fn hooks_with_a_mistake_refuse_the_calls_that_they_may_be_about() {
    let inline = r#"{"name":"a","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"comand"}]}]}}"#;
    for (manifest, file, matcher, said) in [
        (
            r#"{"name":"a"}"#,
            "{",
            None,
            "hooks/hooks.json: The file cannot be read: ",
        ),
        (
            r#"{"name":"a"}"#,
            "7",
            None,
            "hooks/hooks.json: The hooks are no object",
        ),
        (
            r#"{"name":"a","hooks":"../h.json"}"#,
            "{}",
            None,
            "plugin.json: \"../h.json\" is not used",
        ),
        (
            inline,
            "{}",
            Some("Bash"),
            "plugin.json: PreToolUse[0].hooks[0].type is \"comand\"",
        ),
    ] {
        let files = [
            (PLACES[1], manifest),
            ("hooks/hooks.json", file),
            (".mcp.json", "{}"),
        ];
        let (_dir, root) = plugin(&files);
        let mut problems = Vec::new();
        let found = read(&root, &mut problems).unwrap();
        let [hook] = &found.hooks[..] else {
            panic!("{problems:?}")
        };
        assert_eq!(hook.matcher.as_deref(), matcher);
        let why = hook.command.as_ref().unwrap_err();
        assert!(why.contains(said), "{why}");
        assert_eq!(
            problems[0].code,
            if said.contains("../") {
                "InvalidPluginPath"
            } else {
                "InvalidPluginHooks"
            }
        );
    }
}
