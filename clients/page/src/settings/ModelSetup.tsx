//! Sets up a model: a provider, its key, a test, and the default model of new Threads.
import type { ProviderSetting, ProviderWire } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { useClient } from "../server/context";
import { complain, message, say } from "../ui/toast";

const anyOther = { name: "", label: "Another provider", needsKey: false };
/** Providers that the server knows by name; the last one is any other. */
const providers = [
  { name: "anthropic", label: "Anthropic", needsKey: true },
  { name: "openai", label: "OpenAI", needsKey: true },
  { name: "openrouter", label: "OpenRouter", needsKey: true },
  { name: "ollama", label: "Ollama on this machine", needsKey: false },
  anyOther,
];

const wires: [ProviderWire, string][] = [
  ["chat", "Chat Completions (vLLM, llama.cpp, LM Studio, LiteLLM …)"],
  ["responses", "OpenAI Responses"],
  ["messages", "Anthropic Messages"],
];

export function ModelSetup({ onDone }: { onDone?: () => void }) {
  const client = useClient();
  const [chosen, setChosen] = useState(0);
  const [name, setName] = useState("custom");
  const [wire, setWire] = useState<ProviderWire>("chat");
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const [models, setModels] = useState<string[]>();
  const [model, setModel] = useState("");
  const { name: known, needsKey } = providers[chosen] ?? anyOther;
  const isOther = known === "";
  const ready = isOther ? address.trim() !== "" && name.trim() !== "" : !needsKey || key.trim() !== "";

  function change(set: () => void) {
    set();
    setModels(undefined);
    setError(undefined);
  }

  async function test(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const said = isOther ? name.trim() : known;
    const provider: ProviderSetting = {
      name: said,
      ...(isOther && { wire, baseUrl: address.trim() }),
      ...(key.trim() && { apiKey: key.trim() }),
    };
    try {
      await client.request("workspace/config/update", { provider });
      const listed = await client.request("model/list", {});
      const found = listed.models.map(({ id }) => id).filter((id) => id.startsWith(`${said}/`));
      if (found.length === 0)
        setError(
          listed.errorMessage ??
            "The provider lists no models. Check its key and address, or type the name of a model.",
        );
      setModels(found);
      setModel(found[0] ?? `${said}/`);
    } catch (failure) {
      setError(message(failure));
    }
    setBusy(false);
  }

  function use(event: FormEvent) {
    event.preventDefault();
    client.request("workspace/config/update", { model, saveUserConfig: true }).then(() => {
      say(`New Threads use ${model}.`);
      onDone?.();
    }, complain);
  }

  return (
    <div className="stack-list">
      <form className="sheet-form" onSubmit={(event) => void test(event)}>
        <label className="stack">
          Provider
          <select
            className="pick boxed"
            value={chosen}
            onChange={(event) => change(() => setChosen(Number(event.target.value)))}
          >
            {providers.map(({ label }, index) => (
              <option key={label} value={index}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {isOther && (
          <>
            <label className="stack">
              Name, in front of its models
              <input
                className="field mono"
                value={name}
                pattern="[^\/]+"
                onChange={(event) => change(() => setName(event.target.value))}
              />
            </label>
            <label className="stack">
              It speaks
              <select
                className="pick boxed"
                value={wire}
                onChange={(event) => change(() => setWire(event.target.value as ProviderWire))}
              >
                {wires.map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
            <label className="stack">
              Address
              <input
                className="field mono"
                type="url"
                placeholder="https://…/v1"
                value={address}
                onChange={(event) => change(() => setAddress(event.target.value))}
              />
            </label>
          </>
        )}
        {known !== "ollama" && (
          <label className="stack">
            {isOther ? "API key, if it needs one" : "API key"}
            <input
              className="field mono"
              type="password"
              autoComplete="off"
              value={key}
              onChange={(event) => change(() => setKey(event.target.value))}
            />
          </label>
        )}
        <div className="row wrap">
          <button type="submit" className={models?.length ? "btn" : "btn primary"} disabled={!ready || busy}>
            {busy ? "Testing…" : "Save and test"}
          </button>
          <span className="meta">Stored in your own ~/.craft/config.json on the server's machine.</span>
        </div>
        {error && (
          <p className="note bad" role="alert">
            {error}
          </p>
        )}
      </form>
      {models && (
        <form className="sheet-form" onSubmit={use}>
          {/* biome-ignore lint/a11y/noLabelWithoutControl: one of the two controls is there */}
          <label className="stack">
            Default model
            {models.length > 0 ? (
              <select className="pick boxed" value={model} onChange={(event) => setModel(event.target.value)}>
                {models.map((id) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            ) : (
              <input className="field mono" value={model} onChange={(event) => setModel(event.target.value)} />
            )}
          </label>
          <div>
            <button type="submit" className="btn primary" disabled={!model || model.endsWith("/")}>
              Use this model
            </button>
          </div>
        </form>
      )}
    </div>
  );
}
