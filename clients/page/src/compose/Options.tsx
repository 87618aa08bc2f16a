//! Model, effort, mode and approval policy of a Thread. The first entry of each names the server's value.
import type { ApprovalPolicy, ReasoningEffort, ThreadConfiguration } from "@bobbin/client";
import { useMay, useServer } from "../server/context";
import { useDefaults } from "../server/defaults";
import { useRequest } from "../server/useRequest";
import { ModelPicker } from "./ModelPicker";

const policies: Record<ApprovalPolicy, string> = {
  default: "Ask",
  ask: "Ask",
  sandboxed: "Auto in sandbox",
  askWrites: "Ask before edits",
  autoApprove: "Never ask",
  interrupt: "Stop when approval is needed",
  refuse: "Decline when approval is needed",
};

/** Policies that a Thread can have. `default` is the server's setting, and `refuse` is for runs without users. */
const chosen: ApprovalPolicy[] = ["sandboxed", "ask", "askWrites", "autoApprove", "interrupt"];

/** Members that owners alone may send. The server leaves them as they are for others. */
const owned: (keyof ThreadConfiguration)[] = [
  "approvalPolicy",
  "requireApprovalOutsideWorkspace",
  "workspaceOverride",
  "toolAllowList",
  "toolDenyList",
  "mcpServers",
  "engine",
  "agentControlToolAccess",
  "allowedAgentControlTools",
];

/** Returns a configuration as its user may send it. */
export function sendable(configuration: ThreadConfiguration, isOwner: boolean): ThreadConfiguration {
  const left = { ...configuration };
  if (!isOwner) for (const name of owned) delete left[name];
  return left;
}

/** Returns the name of a policy. */
export const policyName = (policy: string): string => policies[policy as ApprovalPolicy] ?? policy;

interface Props {
  configuration: ThreadConfiguration;
  onChange: (configuration: ThreadConfiguration) => void;
}

export function Options({ configuration, onChange }: Props) {
  const isOwner = useMay("owner");
  const can = useServer()?.capabilities.modelCatalogManagement === true;
  const { data } = useRequest("model/list", {}, can);
  const hosts = useServer()?.capabilities.engines === true;
  const agents = useRequest("engine/list", {}, hosts).data?.engines.filter((one) => one.trusted) ?? [];
  const { defaults } = useDefaults();
  const models = data?.models ?? [];
  const model = configuration.model ?? "";
  const agent = configuration.engine ?? "";
  const efforts = (model ? models.find((one) => one.id === model)?.reasoningEfforts : defaults?.reasoningEfforts) ?? [];
  const { reasoningEffort: effort } = configuration;
  const policy = configuration.approvalPolicy ?? "default";

  function set(change: Partial<ThreadConfiguration>) {
    const next: Record<string, unknown> = { ...configuration, ...change };
    for (const [key, value] of Object.entries(next)) if (value === undefined || value === "") delete next[key];
    onChange(sendable(next as ThreadConfiguration, isOwner));
  }

  /** Chooses a model, and drops an effort that the new model does not know. */
  function choose(id: string) {
    const known = id ? models.find((one) => one.id === id)?.reasoningEfforts : defaults?.reasoningEfforts;
    const supported = !effort || known?.includes(effort);
    set({ model: id, ...(!supported && { reasoningEffort: undefined }) });
  }

  return (
    <>
      <select
        className="pick"
        aria-label="Mode"
        value={configuration.mode ?? "agent"}
        onChange={(event) => set({ mode: event.target.value })}
      >
        <option value="agent">Agent</option>
        <option value="plan">Plan first</option>
      </select>
      {(agents.length > 0 || agent) && (
        <select
          className="pick"
          aria-label="Agent"
          disabled={!isOwner}
          value={agent}
          onChange={(event) => set({ engine: event.target.value, model: undefined, reasoningEffort: undefined })}
        >
          <option value="">Bobbin</option>
          {agent && !agents.some((one) => one.name === agent) && <option value={agent}>{agent}</option>}
          {agents.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      )}
      {!agent && (
        <ModelPicker
          models={models}
          model={model}
          byDefault={byDefault(defaults?.model)}
          problem={data && !data.success ? data.errorMessage : undefined}
          onChoose={choose}
        />
      )}
      {!agent && (efforts.length > 0 || effort) && (
        <select
          className="pick"
          aria-label="Effort"
          value={effort ?? ""}
          onChange={(event) =>
            set({ reasoningEffort: (event.target.value || undefined) as ReasoningEffort | undefined })
          }
        >
          <option value="">Default effort (the model's)</option>
          {[...new Set([...efforts, ...(effort ? [effort] : [])])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
      <select
        className="pick"
        aria-label="Approvals"
        disabled={!isOwner}
        value={policy}
        onChange={(event) => set({ approvalPolicy: event.target.value as ApprovalPolicy })}
      >
        <option value="default">{byDefault(defaults && policyName(defaults.approvalPolicy))}</option>
        {policy !== "default" && !chosen.includes(policy) && <option value={policy}>{policyName(policy)}</option>}
        {chosen.map((name) => (
          <option key={name} value={name}>
            {policyName(name)}
          </option>
        ))}
      </select>
    </>
  );
}

const byDefault = (name: string | undefined) => (name ? `Default (${name})` : "Default");
