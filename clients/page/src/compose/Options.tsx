//! Model, effort, mode and approval policy of a Thread.
import type { ApprovalPolicy, ReasoningEffort, ThreadConfiguration } from "@bobbin/client";
import { useServer } from "../server/context";
import { useRequest } from "../server/useRequest";

const policies: [ApprovalPolicy, string][] = [
  ["default", "Asks"],
  ["sandboxed", "Asks outside the sandbox"],
  ["askWrites", "Asks about each change"],
  ["autoApprove", "Asks nothing"],
  ["interrupt", "Stops instead of asking"],
];

interface Props {
  configuration: ThreadConfiguration;
  onChange: (configuration: ThreadConfiguration) => void;
}

export function Options({ configuration, onChange }: Props) {
  const can = useServer()?.capabilities.modelCatalogManagement === true;
  const { data } = useRequest("model/list", {}, can);
  const models = data?.models ?? [];
  const model = configuration.model ?? "";
  // Which model is the usual one is not listed: its efforts are among those of all.
  const asked = model ? models.filter((one) => one.id === model) : models;
  const efforts = [...new Set(asked.flatMap((one) => one.reasoningEfforts ?? []))];
  const policy = configuration.approvalPolicy ?? "default";

  function set(change: Partial<ThreadConfiguration>) {
    const next: Record<string, unknown> = { ...configuration, ...change };
    for (const [key, value] of Object.entries(next)) if (value === undefined || value === "") delete next[key];
    onChange(next as ThreadConfiguration);
  }

  /** An effort that the new model does not know goes with the old one. */
  function choose(id: string) {
    const effort = configuration.reasoningEffort;
    const keeps = !id || !effort || models.find((one) => one.id === id)?.reasoningEfforts?.includes(effort);
    set({ model: id, ...(!keeps && { reasoningEffort: undefined }) });
  }

  return (
    <>
      <select className="pick" aria-label="Mode" value={configuration.mode ?? "agent"} onChange={(event) => set({ mode: event.target.value })}>
        <option value="agent">Agent</option>
        <option value="plan">Plan first</option>
      </select>
      <select className="pick" aria-label="Model" title={data && !data.success ? data.errorMessage : undefined} value={model} onChange={(event) => choose(event.target.value)}>
        <option value="">Usual model</option>
        {model && !models.some((one) => one.id === model) && <option value={model}>{model}</option>}
        {models.map((one) => (
          <option key={one.id} value={one.id}>
            {one.id}
          </option>
        ))}
      </select>
      {(efforts.length > 0 || configuration.reasoningEffort) && (
        <select className="pick" aria-label="Effort" value={configuration.reasoningEffort ?? ""} onChange={(event) => set({ reasoningEffort: (event.target.value || undefined) as ReasoningEffort | undefined })}>
          <option value="">Usual effort</option>
          {[...new Set([...efforts, ...(configuration.reasoningEffort ? [configuration.reasoningEffort] : [])])].map((effort) => (
            <option key={effort} value={effort}>
              {effort}
            </option>
          ))}
        </select>
      )}
      <select className="pick" aria-label="Approvals" value={policy} onChange={(event) => set({ approvalPolicy: event.target.value as ApprovalPolicy })}>
        {policies.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </>
  );
}
