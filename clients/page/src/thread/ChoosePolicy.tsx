//! The first screen where commands run in a sandbox: the user chooses once whether they run without a question.
import type { DefaultApprovalPolicy } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { links } from "../app/route";
import { useClient, useServer } from "../server/context";
import { useDefaults } from "../server/defaults";
import { useThreadList } from "../server/threads";
import { complain } from "../ui/toast";

const choices: [DefaultApprovalPolicy, string, string][] = [
  [
    "automatic",
    "Auto in sandbox",
    "Commands run without a question where the sandbox confines them: they write only in this folder, without network. Everything else is asked about.",
  ],
  ["default", "Ask", "Commands that do more than read are asked about."],
];

export function ChoosePolicy() {
  const client = useClient();
  const { defaults, again } = useDefaults();
  const { threads, phase } = useThreadList();
  const canSet = useServer()?.capabilities.workspaceConfigManagement === true;
  const [policy, setPolicy] = useState<DefaultApprovalPolicy>("automatic");
  const isFirst = phase === "live" && threads.length === 0;
  if (!canSet || !isFirst || !defaults || defaults.approvalPolicySet || defaults.approvalPolicy !== "sandboxed")
    return null;

  function submit(event: FormEvent) {
    event.preventDefault();
    client
      .request("workspace/config/update", { defaultApprovalPolicy: policy, saveUserConfig: true })
      .then(again, complain);
  }

  return (
    <form className="note stack-list" aria-label="How should commands run?" onSubmit={submit}>
      <h2>How should commands run?</h2>
      {choices.map(([name, label, what]) => (
        <label key={name} className="check">
          <input type="radio" name="policy" checked={policy === name} onChange={() => setPolicy(name)} />
          <span>
            {label}
            <span className="meta"> {what}</span>
          </span>
        </label>
      ))}
      <div className="row wrap">
        <button type="submit" className="btn">
          Use this
        </button>
        <span className="meta">
          For all your folders. <a href={links.settings("workspace")}>Settings</a> change it.
        </span>
      </div>
    </form>
  );
}
