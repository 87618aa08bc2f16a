//! Chat platforms whose adapters are connected.
import { useServer } from "../server/context";
import { useRequest } from "../server/useRequest";

export function Channels() {
  const can = useServer()?.capabilities.channelStatus === true;
  const { data, error, again } = useRequest("channel/status", {}, can);
  if (!can) return <p className="empty">This server has no such methods.</p>;
  if (error) return <p className="note bad">{error}</p>;
  return (
    <div className="stack-list">
      {data?.channels.length === 0 && (
        <p className="meta">
          None. Adapters of chat platforms are set as <code>ExternalChannels</code> in <code>~/.craft/config.json</code>
          .
        </p>
      )}
      <ul className="entries">
        {data?.channels.map(({ name, category, enabled, running, problem, diagnostics }) => (
          <li key={name} className="entry">
            <div className="grow">
              <strong>{name}</strong> <span className="meta">{category}</span>{" "}
              <span className="meta">{running ? "connected" : enabled ? "not connected" : "off"}</span>
              {problem && <p className="del">{problem}</p>}
              {diagnostics?.map((one) => (
                <p key={one.message} className="meta">
                  {one.message}
                </p>
              ))}
            </div>
          </li>
        ))}
      </ul>
      <div>
        <button type="button" className="btn small" onClick={again}>
          Read again
        </button>
      </div>
    </div>
  );
}
