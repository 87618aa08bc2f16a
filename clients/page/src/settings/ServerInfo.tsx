//! The server and its models.
import { links } from "../app/route";
import { useServer } from "../server/context";
import { useThreadList } from "../server/threads";
import { useRequest } from "../server/useRequest";
import { duration } from "../ui/format";

export function ServerInfo() {
  const server = useServer();
  const { threads } = useThreadList();
  const can = server?.capabilities;
  const stats = useRequest("server/stats", {}, can?.serverStats === true);
  const models = useRequest("model/list", {}, can?.modelCatalogManagement === true);
  const facts: [string, string | undefined][] = [
    ["Server", server && `${server.serverInfo.name} ${server.serverInfo.version}`],
    ["Workspace", threads[0]?.workspacePath],
    ["Uptime", stats.data?.uptimeMs === undefined ? undefined : duration(stats.data.uptimeMs)],
    [
      "Memory",
      stats.data?.memoryBytes === undefined ? undefined : `${Math.round(stats.data.memoryBytes / 1048576)} MiB`,
    ],
    ["Clients", stats.data?.connections?.toString()],
    ["Threads in memory", stats.data?.liveThreads.toString()],
  ];
  return (
    <div className="stack-list">
      <dl className="facts">
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      <section>
        <h3>Models</h3>
        {models.error && <p className="note bad">{models.error}</p>}
        {models.data && !models.data.success && (
          <p className="note bad">{models.data.errorMessage ?? models.data.errorCode}</p>
        )}
        <ul className="entries">
          {models.data?.models.map((model) => (
            <li key={model.id} className="entry">
              <code className="grow">{model.id}</code>
              <span className="meta">
                {[model.ownedBy, model.reasoningEfforts?.join(", ")].filter(Boolean).join(" · ")}
              </span>
            </li>
          ))}
        </ul>
        <p className="meta">
          Models and providers are set in <code>~/.craft/config.json</code>.{" "}
          <a href={links.settings("checks")}>Checks</a> says what is missing.
        </p>
      </section>
    </div>
  );
}
