//! The configuration of a subagent: never more than its parent Thread has.

use super::{EXPLORER, SubAgentProfile};
use crate::{ApprovalPolicy, Mode, ThreadConfig, ThreadState};

/// Member of a Thread's configuration with the instructions of a subagent (02 §2.4).
const INSTRUCTIONS: &str = "roleInstructions";
/// Member of a Thread's configuration that says whether its agent may have subagents (02 §2.4).
const ACCESS: &str = "agentControlToolAccess";

/// Instructions of every subagent.
const TASK: &str = "You are a subagent: another agent gave you this task and not a person. Do it as far as you can by \
                    yourself and do not ask back. Your last message is what that agent is given of your work: put into \
                    it all that it needs, and nothing else.";
const READ_ONLY: &str = " You only look: find out what is asked, and change nothing.";

/// Returns the configuration of a new subagent. Mode, model, approvals, folder and lists of tools come from the
/// parent's Turn. A profile can choose another model and withhold tools; it never gives more than the parent has.
pub fn configuration(
    parent: &ThreadConfig,
    role: Option<&str>,
    profile: Option<&SubAgentProfile>,
) -> ThreadConfig {
    let mut config = parent.clone();
    let explores = role == Some(EXPLORER);
    if explores {
        config.mode = Some(Mode::Plan);
    }
    let mut instructions = TASK.to_owned();
    if explores {
        instructions.push_str(READ_ONLY);
    }
    if let Some(profile) = profile {
        if let Some(own) = &profile.instructions {
            instructions.push_str("\n\n");
            instructions.push_str(own);
        }
        // The models of the parent are not those of another agent.
        if profile.model.is_some() || profile.engine.is_some() {
            config.model.clone_from(&profile.model);
        }
        config.engine.clone_from(&profile.engine);
        let bounds = ThreadConfig {
            approval_policy: config.approval_policy,
            tool_allow_list: Some(profile.tools.clone()),
            tool_deny_list: Some(profile.denied_tools.clone()),
            ..ThreadConfig::default()
        };
        config = restricted(config, Some(&bounds));
    }
    config.extra.insert(INSTRUCTIONS.to_owned(), instructions.into());
    config
}

/// Returns the configuration with which a subagent continues after a restart; `None` when it is unchanged.
pub fn resumed_configuration(state: &ThreadState, parent: &ThreadState) -> Option<ThreadConfig> {
    let source = state.header.source.sub_agent()?;
    let own = state.header.config.as_ref();
    let parent = parent.header.config.clone().unwrap_or_default();
    let config = restricted(
        configuration(&parent, source.role.as_deref(), source.profile.as_ref()),
        own,
    );
    (own != Some(&config)).then_some(config)
}

/// Returns the configuration of a subagent that gets another input. Earlier restrictions stay, whether a user or
/// the parent's configuration made them.
pub fn restricted(mut config: ThreadConfig, before: Option<&ThreadConfig>) -> ThreadConfig {
    let Some(before) = before else { return config };
    if before.mode() == Mode::Plan {
        config.mode = Some(Mode::Plan);
    }
    config.approval_policy = match (config.approval_policy, before.approval_policy) {
        (Some(now), Some(before)) => Some(now.stricter(before)),
        (Some(ApprovalPolicy::AutoApprove | ApprovalPolicy::Sandboxed), None)
        | (None, Some(ApprovalPolicy::AutoApprove | ApprovalPolicy::Sandboxed)) => None,
        (now, before) => now.or(before),
    };
    if before.require_approval_outside_workspace == Some(false) {
        config.require_approval_outside_workspace = Some(false);
    }
    let mut denied = before.tool_deny_list.clone().unwrap_or_default();
    // An empty list means that all tools are allowed.
    match before.tool_allow_list.as_ref().filter(|list| !list.is_empty()) {
        None => {}
        Some(list) => match config.tool_allow_list.as_ref().filter(|list| !list.is_empty()) {
            None => config.tool_allow_list = Some(list.clone()),
            Some(now) => {
                let allowed = |name: &&String| before.offers(name.trim()) || denied.contains(*name);
                let more: Vec<String> = now.iter().filter(|name| !allowed(name)).cloned().collect();
                denied.extend(more);
            }
        },
    }
    if !denied.is_empty() {
        let now = config.tool_deny_list.get_or_insert_default();
        denied.retain(|name| !now.contains(name));
        now.extend(denied);
    }
    if !may_have_subagents(before) {
        config.extra.insert(ACCESS.to_owned(), "disabled".into());
    }
    config
}

/// Whether a Thread's configuration allows its agent subagents. With `allowList` the list names the allowed tools.
pub fn may_have_subagents(config: &ThreadConfig) -> bool {
    config.extra.get(ACCESS).and_then(|access| access.as_str()) != Some("disabled")
}

#[cfg(test)]
mod tests {
    use super::super::WORKER;
    use super::*;

    fn parsed(text: &str) -> ThreadConfig {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_subagent_never_gets_more_than_its_parent_has() {
        let parent: ThreadConfig = serde_json::from_str(
            r#"{"mode":"plan","model":"m","approvalPolicy":"interrupt","toolDenyList":["Exec"],"x":1}"#,
        )
        .unwrap();
        let worker = configuration(&parent, Some(WORKER), None);
        assert_eq!(worker.mode(), Mode::Plan);
        assert_eq!(
            (worker.model.as_deref(), worker.approval_policy),
            (Some("m"), parent.approval_policy)
        );
        assert!(!worker.offers("Exec") && worker.extra.contains_key("x"));
        let explorer = configuration(&ThreadConfig::default(), Some(EXPLORER), None);
        assert_eq!(explorer.mode(), Mode::Plan);
        let plain = configuration(&ThreadConfig::default(), None, None);
        assert_eq!(plain.mode(), Mode::Agent);
    }

    #[test]
    fn a_subagent_continues_with_what_its_parent_has_now_if_that_differs() {
        let parent = parsed(r#"{"model":"new"}"#);
        let state = |config: Option<ThreadConfig>| {
            let mut state = super::super::origin::tests::subagent();
            state.header.config = config;
            state
        };
        let mut of_parent = state(Some(parent.clone()));
        of_parent.header.source = crate::ThreadSource::User;
        let now = configuration(&parent, None, None);
        let before = Some(configuration(&parsed(r#"{"model":"old"}"#), None, None));
        assert_eq!(
            resumed_configuration(&state(before), &of_parent),
            Some(now.clone())
        );
        assert_eq!(resumed_configuration(&state(Some(now)), &of_parent), None);
        assert_eq!(
            resumed_configuration(&of_parent, &of_parent),
            None,
            "it is no subagent"
        );
    }

    #[test]
    fn what_was_withheld_before_stays_withheld() {
        let of = |text: &str| serde_json::from_str::<ThreadConfig>(text).unwrap();
        let before = of(
            r#"{"mode":"plan","approvalPolicy":"interrupt","toolAllowList":["ReadFile","Exec"],
                "toolDenyList":["Exec"],"agentControlToolAccess":"disabled"}"#,
        );
        let parent = r#"{"mode":"agent","model":"m","approvalPolicy":"autoApprove","toolAllowList":["EditFile","ReadFile"]}"#;
        let given = restricted(of(parent), Some(&before));
        assert_eq!((given.mode(), given.model.as_deref()), (Mode::Plan, Some("m")));
        assert_eq!(given.approval_policy, before.approval_policy);
        let offered = ["ReadFile", "Exec", "EditFile"].map(|tool| given.offers(tool));
        assert_eq!(offered, [true, false, false]);
        assert!(!may_have_subagents(&given));
        assert!(!restricted(of("{}"), Some(&before)).offers("EditFile"));
        // Restricting twice gives the same result; members without a restriction are as in the parent.
        assert_eq!(restricted(of(parent), Some(&given)), given);
        assert_eq!(restricted(of(parent), Some(&of(parent))), of(parent));
        assert_eq!(restricted(of(parent), Some(&of("{}"))).approval_policy, None);
    }

    #[test]
    fn a_profile_chooses_a_model_and_withholds_tools_and_gives_none() {
        let profile = SubAgentProfile {
            name: "critic".to_owned(),
            model: Some("small".to_owned()),
            instructions: Some("Find what is wrong.".to_owned()),
            tools: vec!["ReadFile".to_owned(), "GrepFiles".to_owned(), "Exec".to_owned()],
            denied_tools: vec!["Exec".to_owned()],
            ..SubAgentProfile::default()
        };
        let parent =
            parsed(r#"{"model":"m","approvalPolicy":"autoApprove","toolAllowList":["ReadFile","EditFile"]}"#);
        let critic = configuration(&parent, None, Some(&profile));
        assert_eq!(
            (critic.model.as_deref(), critic.approval_policy),
            (Some("small"), parent.approval_policy)
        );
        let offered = ["ReadFile", "GrepFiles", "Exec", "EditFile"].map(|tool| critic.offers(tool));
        assert_eq!(offered, [true, false, false, false]);
        let said = critic.extra[INSTRUCTIONS].as_str().unwrap();
        assert!(said.starts_with(TASK) && said.ends_with("Find what is wrong."));
    }

    #[test]
    fn a_profile_of_another_agent_chooses_its_engine_and_its_model() {
        let mut profile = SubAgentProfile {
            engine: Some("tea".to_owned()),
            ..SubAgentProfile::default()
        };
        let parent = parsed(r#"{"model":"m"}"#);
        let other = configuration(&parent, None, Some(&profile));
        assert_eq!((other.engine.as_deref(), other.model), (Some("tea"), None));
        profile.model = Some("large".to_owned());
        let other = configuration(&parent, None, Some(&profile));
        assert_eq!(other.model.as_deref(), Some("large"));
    }

    #[test]
    fn a_configuration_can_withhold_subagents() {
        let with = |text: &str| may_have_subagents(&serde_json::from_str(text).unwrap());
        assert!(with("{}") && with(r#"{"agentControlToolAccess":"full"}"#));
        assert!(!with(r#"{"agentControlToolAccess":"disabled"}"#));
    }
}
