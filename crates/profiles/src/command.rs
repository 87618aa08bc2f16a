//! The command line of a profile. Pure.

use bobbin_model::ApprovalPolicy;

use crate::settings::{InputMode, ProfileDefinition, words};

/// The parts of a command line that its profile does not give.
pub(crate) struct Parts<'a> {
    /// The task of the command.
    pub(crate) task: &'a str,
    /// The session that it goes on with.
    pub(crate) session: Option<&'a str>,
    /// The approval policy of its Thread.
    pub(crate) approvals: ApprovalPolicy,
    /// The file that it writes its answer to, as it sees it.
    pub(crate) file: Option<&'a str>,
}

/// Returns the command line of a profile that was checked.
pub(crate) fn line(definition: &ProfileDefinition, parts: &Parts<'_>) -> String {
    let filled = |template: &Option<String>, placeholder: &str, value: &str| {
        let words = template.as_deref().and_then(words);
        let words = words.unwrap_or_default().into_iter();
        words
            .map(|word| word.replace(placeholder, value))
            .collect::<Vec<_>>()
    };
    let mut line: Vec<String> = definition.bin.iter().cloned().collect();
    line.extend(definition.args.iter().flatten().cloned());
    if let Some(session) = parts.session {
        line.extend(filled(&definition.resume_arg_template, "{sessionId}", session));
    }
    let mode = mode(parts.approvals);
    let mapped = definition.permission_mode_mapping.iter().flatten();
    for (_, arguments) in mapped.filter(|(name, _)| name.eq_ignore_ascii_case(mode)) {
        line.extend(words(arguments).unwrap_or_default());
    }
    if let Some(file) = parts.file {
        line.extend(filled(&definition.output_file_arg_template, "{path}", file));
    }
    // A task that starts with `-` would be read as an option.
    let blank = if parts.task.starts_with('-') { " " } else { "" };
    let task = format!("{blank}{}", parts.task);
    match definition.input_mode.unwrap_or_default() {
        InputMode::Arg => line.push(task),
        InputMode::ArgTemplate => line.extend(filled(&definition.input_arg_template, "{task}", &task)),
        InputMode::Stdin | InputMode::Env => {}
    }
    shell_words::join(line)
}

/// Returns what a Thread's approval policy is called in `permissionModeMapping`.
fn mode(approvals: ApprovalPolicy) -> &'static str {
    match approvals {
        ApprovalPolicy::AutoApprove | ApprovalPolicy::Sandboxed => "auto-approve",
        ApprovalPolicy::Refuse => "restricted",
        ApprovalPolicy::Default
        | ApprovalPolicy::Ask
        | ApprovalPolicy::AskWrites
        | ApprovalPolicy::Interrupt => "interactive",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(definition: &Value, parts: &Parts<'_>) -> String {
        let definition: ProfileDefinition = serde_json::from_value(definition.clone()).unwrap();
        definition.check("taster").unwrap();
        line(&definition, parts)
    }

    const PARTS: Parts<'_> = Parts {
        task: "it's $HOME\n`x`",
        session: None,
        approvals: ApprovalPolicy::Default,
        file: None,
    };

    #[test]
    fn arguments_are_in_order_and_no_value_becomes_another_argument() {
        let definition = json!({
            "runtime": "cli-oneshot", "bin": "taste", "args": ["exec", "--skip check"],
            "supportsResume": true, "resumeArgTemplate": "resume {sessionId}", "resumeSessionIdRegex": "x",
            "permissionModeMapping": { "interactive": "--ask --mode 'read only'", "auto-approve": "--yolo" },
            "outputFileArgTemplate": "--out={path}",
        });
        assert_eq!(
            of(&definition, &PARTS),
            "taste exec '--skip check' --ask --mode 'read only' 'it'\\''s $HOME\n`x`'"
        );
        let all = Parts {
            task: "--yolo",
            session: Some("a; b"),
            approvals: ApprovalPolicy::AutoApprove,
            file: Some("/tmp/a b"),
        };
        assert_eq!(
            of(&definition, &all),
            "taste exec '--skip check' resume 'a; b' --yolo '--out=/tmp/a b' ' --yolo'"
        );
    }

    #[test]
    fn a_task_comes_as_the_profile_says() {
        let with = |mode: &str| {
            json!({
                "runtime": "cli-oneshot", "bin": "taste", "inputMode": mode,
                "inputArgTemplate": "--task '{task} now' -q", "inputEnvKey": "TASK",
            })
        };
        let parts = Parts {
            task: "boil",
            ..PARTS
        };
        assert_eq!(of(&with("arg"), &parts), "taste boil");
        assert_eq!(of(&with("arg-template"), &parts), "taste --task 'boil now' -q");
        assert_eq!(of(&with("stdin"), &parts), "taste");
        assert_eq!(of(&with("env"), &parts), "taste");
    }
}
