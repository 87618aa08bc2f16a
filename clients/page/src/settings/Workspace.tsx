//! Settings of the workspace that a client may change, and the list of all there are.
import type { ConfigSection, WorkspaceConfigUpdateParams } from "@bobbin/client";
import { type FormEvent, useState } from "react";
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
  const [endPoint, setEndPoint] = useState("");
  const [apiKey, setApiKey] = useState("");
  const said = (section: string, key: string) => {
    const fields = schema.data?.sections.find((one) => one.section === section)?.fields;
    return fields && (fields.find((one) => one.key === key)?.value ?? null);
  };
  const text = (value: unknown) => (value === undefined ? undefined : value === null ? null : String(value));
  const suggested = said("WelcomeSuggestions", "Enabled");
  const address = said("Core", "EndPoint");
  if (!wanted) return <p className="empty">This server changes no settings.</p>;

  function submit(event: FormEvent) {
    event.preventDefault();
    const change: WorkspaceConfigUpdateParams = {
      ...(model !== LEAVE && { model: model || null }),
      ...(policy !== LEAVE && { defaultApprovalPolicy: (policy || null) as WorkspaceConfigUpdateParams["defaultApprovalPolicy"] }),
      ...(suggestions !== LEAVE && { welcomeSuggestionsEnabled: suggestions === "" ? null : suggestions === "yes" }),
      ...(endPoint.trim() && { endPoint: endPoint.trim() }),
      ...(apiKey.trim() && { apiKey: apiKey.trim() }),
    };
    client.request("workspace/config/update", change).then(() => {
      schema.again();
      for (const set of [setModel, setPolicy, setSuggestions]) set(LEAVE);
      setEndPoint("");
      setApiKey("");
      say("Stored.");
    }, complain);
  }

  const changed = [model, policy, suggestions].some((value) => value !== LEAVE) || endPoint.trim() !== "" || apiKey.trim() !== "";
  return (
    <div className="stack-list">
      <form className="sheet-form" onSubmit={submit}>
        <Choice label="Usual model" value={model} onValue={setModel} options={(models.data?.models ?? []).map(({ id }) => [id, id])} now={text(said("Core", "Model"))} />
        <Choice label="Approvals of Threads that have no policy" value={policy} onValue={setPolicy} options={[["default", "Asks"], ["autoApprove", "Asks nothing"]]} now={text(said("Permissions", "DefaultApprovalPolicy"))} />
        <Choice label="Suggestions for new Threads" value={suggestions} onValue={setSuggestions} options={[["yes", "Yes"], ["no", "No"]]} now={suggested === undefined ? undefined : suggested === null ? null : suggested ? "yes" : "no"} />
        <fieldset className="choices">
          <legend>A provider of models, in your own file</legend>
          <label className="stack">
            Address
            <input className="field mono" type="url" value={endPoint} placeholder={typeof address === "string" ? address : "https://…"} onChange={(event) => setEndPoint(event.target.value)} />
          </label>
          <label className="stack">
            Key
            <input className="field mono" type="password" autoComplete="off" value={apiKey} onChange={(event) => setApiKey(event.target.value)} />
          </label>
        </fieldset>
        <div>
          <button type="submit" className="btn primary" disabled={!changed}>
            Store
          </button>
        </div>
      </form>
      <section>
        <h3>All settings</h3>
        <p className="meta">
          These are members of <code>~/.craft/config.json</code> and, as far as the workspace may say it, of <code>.craft/config.json</code>.
        </p>
        {schema.error && <p className="note bad">{schema.error}</p>}
        {schema.data?.sections.map((section) => <Section key={section.section} section={section} />)}
      </section>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
  options: [string, string][];
  /** What the files say, once that was read. */
  now: string | null | undefined;
}

function Choice({ label, value, onValue, options, now }: ChoiceProps) {
  const stands = now === undefined ? "As it is" : `As it is: ${now === null ? "not set" : (options.find(([name]) => name === now)?.[1] ?? now)}`;
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
              <span className="meta">{[field.type, field.defaultValue !== undefined && !field.sensitive && `usually ${JSON.stringify(field.defaultValue)}`, field.reload === "processRestart" && "counts from the next start"].filter(Boolean).join(" · ")}</span>
            </dt>
            <dd>
              {field.value !== undefined && (
                <p>
                  <code>{Array.isArray(field.value) ? field.value.join(", ") : String(field.value)}</code> <span className="meta">now</span>
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
