//! The workspace's settings that a client may change, and a list of all settings.
import type { ConfigSection, WorkspaceConfigUpdateParams } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { links } from "../app/route";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { complain, say } from "../ui/toast";

const LEAVE = "leave";

export function Workspace() {
  const client = useClient();
  const can = useServer()?.capabilities;
  const wanted = can?.workspaceConfigManagement === true;
  const schema = useRequest("workspace/config/schema", {}, wanted);
  const models = useRequest("model/list", {}, can?.modelCatalogManagement === true);
  const [model, setModel] = useState(LEAVE);
  const [policy, setPolicy] = useState(LEAVE);
  const [suggestions, setSuggestions] = useState(LEAVE);
  const said = (section: string, key: string) => {
    const fields = schema.data?.sections.find((one) => one.section === section)?.fields;
    return fields && (fields.find((one) => one.key === key)?.value ?? null);
  };
  const text = (value: unknown) => (value === undefined ? undefined : value === null ? null : String(value));
  const suggested = said("WelcomeSuggestions", "Enabled");
  if (!wanted) return <p className="empty">This server changes no settings.</p>;

  function submit(event: FormEvent) {
    event.preventDefault();
    const change: WorkspaceConfigUpdateParams = {
      ...(model !== LEAVE && { model: model || null }),
      ...(policy !== LEAVE && {
        defaultApprovalPolicy: (policy || null) as WorkspaceConfigUpdateParams["defaultApprovalPolicy"],
      }),
      ...(suggestions !== LEAVE && { welcomeSuggestionsEnabled: suggestions === "" ? null : suggestions === "yes" }),
    };
    client.request("workspace/config/update", change).then(() => {
      schema.again();
      for (const set of [setModel, setPolicy, setSuggestions]) set(LEAVE);
      say("Stored.");
    }, complain);
  }

  const changed = [model, policy, suggestions].some((value) => value !== LEAVE);
  return (
    <div className="stack-list">
      <form className="sheet-form" onSubmit={submit}>
        <Choice
          label="Default model"
          value={model}
          onValue={setModel}
          options={(models.data?.models ?? []).map(({ id }) => [id, id])}
          now={text(said("Core", "Model"))}
        />
        <Choice
          label="Default approvals"
          value={policy}
          onValue={setPolicy}
          options={[
            ["automatic", "Automatic: Auto in sandbox in trusted folders"],
            ["sandboxed", "Auto in sandbox"],
            ["default", "Ask"],
            ["askWrites", "Ask before edits"],
            ["autoApprove", "Never ask"],
          ]}
          now={text(said("Permissions", "DefaultApprovalPolicy"))}
        />
        <Choice
          label="Suggestions for new Threads"
          value={suggestions}
          onValue={setSuggestions}
          options={[
            ["yes", "Yes"],
            ["no", "No"],
          ]}
          now={suggested === undefined ? undefined : suggested === null ? null : suggested ? "yes" : "no"}
        />
        <p className="meta">
          <a href={links.settings("models")}>Models</a> sets up a provider and its key.
        </p>
        <div>
          <button type="submit" className="btn primary" disabled={!changed}>
            Store
          </button>
        </div>
      </form>
      <section>
        <h3>All settings</h3>
        <p className="meta">
          These are members of <code>~/.craft/config.json</code> and, as far as the workspace may say it, of{" "}
          <code>.craft/config.json</code>.
        </p>
        {schema.error && <p className="note bad">{schema.error}</p>}
        {schema.data?.sections.map((section) => (
          <Section key={section.section} section={section} />
        ))}
      </section>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
  options: [string, string][];
  /** The values in the files, once they are read. */
  now: string | null | undefined;
}

function Choice({ label, value, onValue, options, now }: ChoiceProps) {
  const stands =
    now === undefined
      ? "Unchanged"
      : `Unchanged: ${now === null ? "not set" : (options.find(([name]) => name === now)?.[1] ?? now)}`;
  return (
    <label className="stack">
      {label}
      <select className="pick boxed" value={value} onChange={(event) => onValue(event.target.value)}>
        <option value={LEAVE}>{stands}</option>
        <option value="">Not set</option>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Section({ section: { section, path, fields } }: { section: ConfigSection }) {
  return (
    <details className="file">
      <summary>
        <span className="grow">{section}</span>
        <span className="meta num">{fields.length}</span>
      </summary>
      <dl className="config-fields">
        {fields.map((field) => (
          <div key={field.key}>
            <dt>
              <code>{path ? `${path}.${field.key}` : field.key}</code>{" "}
              <span className="meta">
                {[
                  field.type,
                  field.defaultValue !== undefined &&
                    !field.sensitive &&
                    `default ${JSON.stringify(field.defaultValue)}`,
                  field.reload === "processRestart" && "after a restart",
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            </dt>
            <dd>
              {field.value !== undefined && (
                <p>
                  <code>{Array.isArray(field.value) ? field.value.join(", ") : String(field.value)}</code>{" "}
                  <span className="meta">now</span>
                </p>
              )}
              {field.hint}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
