//! `policy/explain` and `approval/rules/*`: the outcome of commands by the rules, and the user's standing permissions.

pub(crate) mod explain;
pub(crate) mod rules;

use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::policy::types::{
    ApprovalRulesListResult, ApprovalRulesRemoveParams, ApprovalRulesRemoveResult, PolicyExplainParams,
    PolicyExplainResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The bounds of stored answers.
const ANSWERS: &str =
    "at most 1,000 answers are listed; a `clientRequestId` is known for as long as the server runs";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::APPROVALS, Some("approvalRules");
        request "policy/explain" (PolicyExplainParams => PolicyExplainResult)
            [ThreadNotFound] wait explain::explain, needs Read:
            "Extension: says what would happen to a command, and which rule decides.",
            capability Some("policyExplain"), test "native/policy: a_command_and_its_parts_are_explained";
        request "approval/rules/list" (EmptyParams => ApprovalRulesListResult) [] now rules::list, needs Read:
            "Extension: lists the rules in force and what is always allowed.",
            test "native/policy: rules_and_answers_for_ever_are_listed_and_answers_are_taken_back",
            note ANSWERS;
        request "approval/rules/remove" (ApprovalRulesRemoveParams => ApprovalRulesRemoveResult)
            [] wait rules::remove, needs Own:
            "Extension: removes requests from what is always allowed.",
            test "native/policy: rules_and_answers_for_ever_are_listed_and_answers_are_taken_back",
            note ANSWERS;
    },
    capabilities: |_, capabilities| {
        capabilities.policy_explain = true;
        capabilities.approval_rules = true;
    },
    ..Group::EMPTY
};
