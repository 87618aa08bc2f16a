//! The form that tests an MCP server, then adds or changes it.
import type { McpServerConfig } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { useClient } from "../server/context";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { message } from "../ui/toast";

interface Props {
  server?: McpServerConfig;
  onClose: () => void;
  onDone: () => void;
}

export function McpForm({ server, onClose, onDone }: Props) {
  const client = useClient();
  const [name, setName] = useState(server?.name ?? "");
  const [transport, setTransport] = useState(server?.transport ?? "stdio");
  const [command, setCommand] = useState(server?.command ?? "");
  const [args, setArgs] = useState((server?.args ?? []).join("\n"));
  const [url, setUrl] = useState(server?.url ?? "");
  const [tested, setTested] = useState<{ text: string; bad: boolean }>();

  function config(): McpServerConfig {
    const { command: _c, args: _a, url: _u, origin: _o, readOnly: _r, ...rest } = server ?? ({} as McpServerConfig);
    const way = transport === "stdio" ? { command, args: args.split("\n").filter(Boolean) } : { url };
    return { ...rest, name, enabled: server?.enabled ?? true, transport, ...way };
  }

  function test() {
    setTested({ text: "Testing…", bad: false });
    client.request("mcp/test", { server: config() }).then(
      (result) =>
        setTested(
          result.success
            ? { text: `It works: ${plural(result.toolCount ?? 0, "tool")}.`, bad: false }
            : { text: result.errorMessage ?? "It does not work.", bad: true },
        ),
      (error: unknown) => setTested({ text: message(error), bad: true }),
    );
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    client
      .request("mcp/upsert", { server: config() })
      .then(onDone, (error: unknown) => setTested({ text: message(error), bad: true }));
  }

  const whole = Boolean(name.trim() && (transport === "stdio" ? command.trim() : url.trim()));
  return (
    <Dialog title={server ? `MCP server ${server.name}` : "Add an MCP server"} onClose={onClose}>
      <form className="sheet-form" onSubmit={submit}>
        <label className="stack">
          Name
          <input
            className="field"
            value={name}
            disabled={server !== undefined}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="stack">
          It is
          <select
            className="pick boxed"
            value={transport}
            onChange={(event) => setTransport(event.target.value as typeof transport)}
          >
            <option value="stdio">a program on the server's machine</option>
            <option value="streamableHttp">an HTTP server</option>
          </select>
        </label>
        {transport === "stdio" ? (
          <>
            <label className="stack">
              Program
              <input className="field mono" value={command} onChange={(event) => setCommand(event.target.value)} />
            </label>
            <label className="stack">
              Arguments, one a line
              <textarea
                className="field mono"
                rows={3}
                value={args}
                onChange={(event) => setArgs(event.target.value)}
              />
            </label>
          </>
        ) : (
          <label className="stack">
            Address
            <input className="field mono" type="url" value={url} onChange={(event) => setUrl(event.target.value)} />
          </label>
        )}
        <div role="status">{tested && <p className={tested.bad ? "note bad" : "note"}>{tested.text}</p>}</div>
        <div className="sheet-foot">
          <button type="button" className="btn" disabled={!whole} onClick={test}>
            Test
          </button>
          <button type="submit" className="btn primary" disabled={!whole}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
