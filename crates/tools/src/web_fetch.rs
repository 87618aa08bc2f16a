//! `WebFetch`: a page of the web, as text.
//!
//! Each place (scheme, host and port) needs an approval unless a rule allows it. Rules name a place as the tool
//! `WebFetch:HOST` or `WebFetch:HOST:PORT`; only such a rule allows a fetch from the machine's own network.

use std::fmt::Write as _;

use bobbin_agent_api::policy::{Judgement, Policy, Ruling};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    Touches,
};
use bobbin_model::{ApprovalKind, Json, Scope};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::Url;
use serde::Deserialize;

use super::arguments::{decode, done, failed, spec};
use bobbin_agent_api::cut::head;
use bobbin_web::{FetchError, Fetched, Reach, fetch, parse};

const NAME: &str = "WebFetch";
/// Most text for the model.
const MAX_TEXT_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct WebFetch {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    url: String,
    #[serde(default)]
    offset: usize,
}

impl WebFetch {
    pub(super) fn new() -> Self {
        let spec = spec(
            NAME,
            // A request leaves the machine, and its address can carry information.
            Effect::Writes,
            "Fetches a page by http or https and gives its text: HTML as plain text with links, other text as it is. \
             Redirects to other hosts are reported and not followed. Nothing is logged in, and this machine's own network \
             cannot be reached.",
            &["url"],
            &serde_json::json!({
                "url": { "type": "string", "description": "The whole address, such as https://example.com/docs." },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Byte of the text from which it is given; 0 when left out.",
                },
            }),
        );
        Self { spec }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let Arguments { url, offset } = decode(arguments)?;
        let url = parse(&url).map_err(ToolRefusal::Unusable)?;
        let (permission, reach) = permission(&url, &*environment.policy)?;
        Ok(Box::new(Prepared {
            url,
            offset,
            permission,
            reach,
        }))
    }
}

/// Returns how far a user's fetch may reach, according to the rules.
///
/// # Errors
/// A rule forbids it.
pub fn reach_for_a_person(url: &Url, policy: &dyn Policy) -> Result<Reach, String> {
    let (_, reach) = permission(url, policy).map_err(|refusal| refusal.to_string())?;
    Ok(reach)
}

/// Returns the permission for a fetch, and how far it may reach.
fn permission(url: &Url, policy: &dyn Policy) -> Result<(Permission, Reach), ToolRefusal> {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let port = url.port_or_known_default().unwrap_or_default();
    let names = [format!("{NAME}:{host}"), format!("{NAME}:{host}:{port}")];
    let said: Vec<Ruling> = names.iter().filter_map(|name| policy.tool(name)).collect();
    let says = |judgement| said.iter().find(|ruling| ruling.judgement == judgement);
    if let Some(ruling) = says(Judgement::Deny) {
        return Err(ToolRefusal::denied(&ruling.reason));
    }
    // A rule for all tools, or for all names that start with "fetch", does not name this place on purpose.
    let names_a_place = |ruling: &Ruling| {
        ruling
            .rule
            .as_ref()
            .is_some_and(|rule| rule.rule.contains(&format!("{NAME}:")))
    };
    let asks = says(Judgement::Ask).is_some();
    let reach = match says(Judgement::Allow) {
        Some(ruling) if names_a_place(ruling) => Reach::Anywhere,
        _ => Reach::Public,
    };
    if says(Judgement::Allow).is_some() && !asks {
        return Ok((Permission::Free, reach));
    }
    let origin = url.origin().ascii_serialization();
    let scope = Scope::new(ApprovalKind::RemoteResource, "fetch", origin);
    let permission = Permission::Ask {
        scope: if asks { scope.once() } else { scope },
        reason: format!("The agent wants to fetch {url}."),
    };
    Ok((permission, reach))
}

struct Prepared {
    url: Url,
    offset: usize,
    permission: Permission,
    reach: Reach,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let fetched = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return failed("cancelled"),
                fetched = fetch(self.url.clone(), self.reach) => fetched,
            };
            match fetched {
                Ok(fetched) => shown(&fetched, self.offset),
                Err(error) => ToolOutput {
                    refused: matches!(error, FetchError::NotPublic(_)),
                    ..failed(format!("{error} ({})", self.url))
                },
            }
        }
        .boxed()
    }
}

fn shown(fetched: &Fetched, offset: usize) -> ToolOutput {
    let from = fetched.text.ceil_char_boundary(offset.min(fetched.text.len()));
    let (text, whole) = head(&fetched.text[from..], MAX_TEXT_BYTES);
    let mut said = format!("{} {}\n\n{text}", fetched.status, fetched.url);
    if !whole {
        let next = from + text.len();
        // Writing to a String cannot fail.
        let _ = write!(
            said,
            "\n\n[{} of {} bytes; go on with offset {next}]",
            text.len(),
            fetched.text.len()
        );
    } else if fetched.cut {
        said.push_str("\n\n[the page is longer; the rest is not fetched]");
    }
    if fetched.ok { done(said) } else { failed(said) }
}

#[cfg(test)]
mod tests {
    use bobbin_rules::{RuleSet, RuleText};
    use rstest::rstest;

    use super::*;
    use bobbin_policy::RulesPolicy;

    fn judged(url: &str, rules: &[(&str, &str)]) -> Result<(bool, Reach), String> {
        let rules = rules.iter().map(|(action, tool)| RuleText {
            action: (*action).to_owned(),
            tool: Some((*tool).to_owned()),
            ..RuleText::default()
        });
        let policy = RulesPolicy::new(RuleSet::new(rules, None).unwrap());
        permission(&parse(url).unwrap(), &policy)
            .map(|(permission, reach)| (permission == Permission::Free, reach))
            .map_err(|refusal| refusal.to_string())
    }

    #[rstest]
    #[case::nobody_said("https://a.test/x", &[], Ok((false, Reach::Public)))]
    #[case::a_place("http://localhost:8080/", &[("allow", "WebFetch:localhost:8080")], Ok((true, Reach::Anywhere)))]
    #[case::another_port("http://localhost:8081/", &[("allow", "WebFetch:localhost:8080")], Ok((false, Reach::Public)))]
    #[case::a_host("https://a.test/x", &[("allow", "WebFetch:a.test")], Ok((true, Reach::Anywhere)))]
    #[case::a_dot_at_its_end("https://a.test./x", &[("deny", "WebFetch:a.test")], Err(()))]
    #[case::every_tool("http://127.0.0.1/", &[("allow", "*")], Ok((true, Reach::Public)))]
    #[case::every_place("http://127.0.0.1/", &[("allow", "WebFetch:*")], Ok((true, Reach::Anywhere)))]
    #[case::one_is_denied("https://a.test/x", &[("allow", "WebFetch:*"), ("deny", "WebFetch:a.test")], Err(()))]
    #[case::one_is_asked_about("https://a.test/", &[("allow", "WebFetch:*"), ("ask", "WebFetch:a.test:443")], Ok((false, Reach::Anywhere)))]
    fn rules_name_places(
        #[case] url: &str,
        #[case] rules: &[(&str, &str)],
        #[case] expected: Result<(bool, Reach), ()>,
    ) {
        let judged = judged(url, rules);
        assert_eq!(
            judged.map_err(|why| assert!(why.starts_with("refused: "), "{why}")),
            expected
        );
    }

    #[test]
    fn a_long_text_is_given_in_parts() {
        let fetched = Fetched {
            url: "https://a.test/".to_owned(),
            status: "200 OK".to_owned(),
            ok: true,
            text: "é".repeat(MAX_TEXT_BYTES),
            cut: true,
        };
        let first = shown(&fetched, 0).text;
        assert!(
            first.ends_with(&format!("go on with offset {MAX_TEXT_BYTES}]")),
            "{}",
            &first[first.len() - 80..]
        );
        let last = shown(&fetched, MAX_TEXT_BYTES + 1).text;
        assert!(last.ends_with("[the page is longer; the rest is not fetched]"));
    }
}
