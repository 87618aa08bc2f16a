//! Plugins, with buttons that switch them on and off and remove them.
import { useEffect } from "react";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { marked, markedInLine } from "../text/marked";
import { plural } from "../ui/format";
import { complain } from "../ui/toast";

export function Plugins() {
  const client = useClient();
  const can = useServer()?.capabilities.pluginManagement === true;
  const { data, error, again } = useRequest("plugin/list", {}, can);
  useEffect(
    () => client.on("workspace/configChanged", ({ regions }) => regions.includes("plugins") && again()),
    [client, again],
  );
  if (!can) return null;
  const plugins = data?.plugins.filter(({ installed }) => installed);
  return (
    <section>
      <h3>Plugins</h3>
      {error && <p className="note bad">{error}</p>}
      {plugins?.length === 0 && (
        <p className="meta">
          None. <code>bobbin plugin install</code> installs one.
        </p>
      )}
      <ul className="entries">
        {plugins?.map(
          ({
            id,
            displayName,
            version,
            enabled,
            removable,
            description,
            skills,
            mcpServers,
            hooks,
            source,
            diagnostics,
          }) => (
            <li key={id} className="entry">
              <div className="grow">
                <strong>{markedInLine(displayName)}</strong> <span className="meta">{markedInLine(version ?? "")}</span>
                <p className="meta">
                  {[
                    description && markedInLine(description),
                    skills.length > 0 && plural(skills.length, "skill"),
                    mcpServers.length > 0 && plural(mcpServers.length, "MCP server"),
                    source,
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </p>
                {hooks.map(({ event, matcher, command }) => (
                  <p key={`${event} ${matcher} ${command}`} className="meta">
                    {event}
                    {matcher && ` (${markedInLine(matcher)})`} runs <code>{marked(command)}</code>
                  </p>
                ))}
                {diagnostics.map((one) => (
                  <p key={one.message} className={one.severity === "error" ? "del" : "meta"}>
                    {markedInLine(one.message)}
                  </p>
                ))}
              </div>
              <label className="check">
                <input
                  type="checkbox"
                  checked={enabled}
                  aria-label={`${displayName} is on`}
                  onChange={() =>
                    void client.request("plugin/setEnabled", { id, enabled: !enabled }).then(again, complain)
                  }
                />
                on
              </label>
              {removable && (
                <button
                  type="button"
                  className="btn small danger"
                  aria-label={`Remove ${displayName}`}
                  onClick={() => void client.request("plugin/remove", { id }).then(again, complain)}
                >
                  Remove
                </button>
              )}
            </li>
          ),
        )}
      </ul>
    </section>
  );
}
