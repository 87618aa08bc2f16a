//! `policy/explain` and `approval/rules/*`: what the rules say, and answers that were given for ever.

pub(crate) mod explain;
pub(crate) mod rules;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::PolicyExplainParams, wire::PolicyExplainResult>(
            "policy/explain",
            "Extension: says what would happen to a command, and which rule decides.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(explain::explain),
        ),
        Method::request::<wire::EmptyParams, wire::ApprovalRulesListResult>(
            "approval/rules/list",
            "Extension: lists the rules in force and the answers that were given for ever.",
            &[],
            |call| call.now(rules::list),
        ),
        Method::request::<wire::ApprovalRulesRemoveParams, wire::ApprovalRulesRemoveResult>(
            "approval/rules/remove",
            "Extension: takes back answers that were given for ever.",
            &[],
            |call| call.wait(rules::remove),
        ),
    ],
    capabilities: |_, capabilities| {
        capabilities.policy_explain = true;
        capabilities.approval_rules = true;
    },
    ..Group::EMPTY
};
