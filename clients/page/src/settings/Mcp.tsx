//! MCP servers: their state, and buttons that add, change, test and remove them.
import type { McpOriginKind, McpServerConfig, McpServerStatus } from "@bobbin/client";
import { useEffect, useMemo, useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { plural } from "../ui/format";
import { complain } from "../ui/toast";
import { McpForm } from "./McpForm";

const states: Record<McpServerStatus["startupState"], string> = {
  idle: "not started",
  starting: "starts",
  ready: "ready",
  error: "failed",
  disabled: "off",
};

const origins: Record<McpOriginKind, string> = {
  workspace: "in .craft/config.json",
  plugin: "of a plugin",
  user: "yours, in ~/.craft/config.json or by bobbin mcp",
};

export function Mcp() {
  const client = useClient();
  const list = useRequest("mcp/list", {});
  const read = useRequest("mcp/status/list", {});
  const [live, setLive] = useState<Record<string, McpServerStatus>>({});
  const [edited, setEdited] = useState<McpServerConfig | "new">();
  const { again } = list;
  useEffect(
    () => client.on("mcp/status/updated", ({ server }) => setLive((now) => ({ ...now, [server.name]: server }))),
    [client],
  );
  useEffect(
    () => client.on("workspace/configChanged", ({ regions }) => regions.includes("mcp") && again()),
    [client, again],
  );
  const status = useMemo(
    () => ({ ...Object.fromEntries((read.data?.servers ?? []).map((server) => [server.name, server])), ...live }),
    [read.data, live],
  );

  if (list.error) return <p className="note bad">{list.error}</p>;
  return (
    <div className="stack-list">
      {list.data?.servers.length === 0 && <p className="meta">None. MCP servers give the agent further tools.</p>}
      <ul className="entries">
        {list.data?.servers.map((server) => {
          const now: McpServerStatus | undefined = status[server.name];
          return (
            <li key={server.name} className="entry">
              <div className="grow">
                <strong>{markedInLine(server.name)}</strong>{" "}
                <code className="meta">
                  {markedInLine(server.url ?? [server.command, ...(server.args ?? [])].join(" "))}
                </code>
                <p className={now?.startupState === "error" ? "del" : "meta"}>
                  {[
                    now && states[now.startupState],
                    now?.toolCount !== undefined && plural(now.toolCount, "tool"),
                    now?.lastError && markedInLine(now.lastError),
                    server.origin && origins[server.origin.kind],
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </p>
              </div>
              {!server.readOnly && (
                <span className="row">
                  <button
                    type="button"
                    className="btn small"
                    onClick={() =>
                      void client
                        .request("mcp/upsert", { server: { ...server, enabled: server.enabled === false } })
                        .then(again, complain)
                    }
                  >
                    {server.enabled === false ? "Switch on" : "Switch off"}
                  </button>
                  <button
                    type="button"
                    className="btn small"
                    aria-label={`Change ${server.name}`}
                    onClick={() => setEdited(server)}
                  >
                    Change…
                  </button>
                  <button
                    type="button"
                    className="btn small danger"
                    aria-label={`Remove ${server.name}`}
                    onClick={() => void client.request("mcp/remove", { name: server.name }).then(again, complain)}
                  >
                    Remove
                  </button>
                </span>
              )}
            </li>
          );
        })}
      </ul>
      <div>
        <button type="button" className="btn" onClick={() => setEdited("new")}>
          Add a server…
        </button>
      </div>
      {edited && (
        <McpForm
          server={edited === "new" ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={() => {
            setEdited(undefined);
            again();
          }}
        />
      )}
    </div>
  );
}
