//! Settings › Models: the default model, the providers with their keys, and a form for another one.
import type { ProviderInfo, ProviderProtocol, ProviderTestResult } from "@bobbin/client";
import { type FormEvent, useEffect, useState } from "react";
import { ModelPicker } from "../compose/ModelPicker";
import { useClient } from "../server/context";
import { useDefaults } from "../server/defaults";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { complain, message, say } from "../ui/toast";
import { ModelSetup } from "./ModelSetup";

const protocols: Record<ProviderProtocol, string> = {
  "openai-chat-completions": "Chat Completions",
  "openai-responses": "OpenAI Responses",
  anthropic: "Anthropic Messages",
};

export function Models() {
  const client = useClient();
  const { defaults } = useDefaults();
  const listed = useRequest("model/list", {});
  const { data, error, again } = useRequest("provider/list", {});
  const [adding, setAdding] = useState(false);
  const readModels = listed.again;
  useEffect(
    () =>
      client.on("config/changed", () => {
        again();
        readModels();
      }),
    [client, again, readModels],
  );
  const model = defaults?.model ?? "";
  return (
    <>
      <h3>Default model</h3>
      <p className="meta">New Threads use it. Threads that have a model of their own do not change.</p>
      <div>
        <ModelPicker
          models={listed.data?.models ?? []}
          model={model}
          byDefault="None"
          problem={listed.data && !listed.data.success ? listed.data.errorMessage : undefined}
          onChoose={(model) =>
            void client
              .request("workspace/config/update", { model: model || null, saveUserConfig: true })
              .then(() => say(model ? `New Threads use ${model}.` : "There is no default model."))
              .catch(complain)
          }
        />
      </div>
      <h3>Providers</h3>
      {error && <p className="note bad">{error}</p>}
      {data?.providers.length === 0 && <p className="empty">No provider is set up.</p>}
      <ul className="entries">
        {data?.providers.map((provider) => (
          <Provider key={provider.id} provider={provider} onChange={again} />
        ))}
      </ul>
      {adding ? (
        <ModelSetup
          onDone={() => {
            setAdding(false);
            again();
          }}
        />
      ) : (
        <div>
          <button type="button" className="btn" onClick={() => setAdding(true)}>
            Add a provider…
          </button>
        </div>
      )}
    </>
  );
}

function Provider({ provider, onChange }: { provider: ProviderInfo; onChange: () => void }) {
  const { id, displayName, protocol, endPoint, hasApiKey } = provider;
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<ProviderTestResult>();
  const [dialog, setDialog] = useState<"key" | "remove">();
  const test = () => {
    setBusy(true);
    client
      .request("provider/test", { providerId: id })
      .then(setFound, complain)
      .finally(() => setBusy(false));
  };
  const name = markedInLine(displayName || id);
  return (
    <li>
      <div className="entry wrap">
        <div className="grow">
          <p>{name}</p>
          <p className="meta">
            {protocols[protocol]} · <code>{markedInLine(endPoint)}</code> · {hasApiKey ? "has a key" : "no key"}
          </p>
          {found && (
            <p className={found.success ? "meta" : "note bad"} role="status">
              {found.success
                ? `It works: ${plural(found.models.length, "model")}.`
                : (found.errorMessage ?? "It does not answer.")}
            </p>
          )}
        </div>
        <button type="button" className="btn small" aria-label={`Test ${name}`} disabled={busy} onClick={test}>
          {busy ? "Testing…" : "Test"}
        </button>
        <button type="button" className="btn small" aria-label={`Key of ${name}…`} onClick={() => setDialog("key")}>
          Key…
        </button>
        <button type="button" className="btn small" aria-label={`Remove ${name}…`} onClick={() => setDialog("remove")}>
          Remove…
        </button>
      </div>
      {dialog === "key" && (
        <KeyDialog
          provider={provider}
          onTested={setFound}
          onClose={() => {
            setDialog(undefined);
            onChange();
          }}
        />
      )}
      {dialog === "remove" && (
        <Dialog title={`Remove ${name}?`} onClose={() => setDialog(undefined)}>
          <div className="stack-list">
            <p>Its address and key go from your own file. Threads that use its models need another one.</p>
            <div className="row">
              <span className="grow" />
              <button type="button" className="btn" onClick={() => setDialog(undefined)}>
                Cancel
              </button>
              <button
                type="button"
                className="btn danger"
                onClick={() => {
                  setDialog(undefined);
                  client.request("provider/delete", { id }).then(onChange, complain);
                }}
              >
                Remove
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </li>
  );
}

function KeyDialog({
  provider: { id, displayName, hasApiKey },
  onTested,
  onClose,
}: {
  provider: ProviderInfo;
  onTested: (result: ProviderTestResult) => void;
  onClose: () => void;
}) {
  const client = useClient();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const store = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const apiKey = key.trim();
      if (apiKey) {
        const tested = await client.request("provider/test", { providerId: id, apiKey });
        onTested(tested);
        if (!tested.success) throw new Error(tested.errorMessage ?? "The provider does not accept this key.");
      }
      await client.request("provider/update", { id, apiKey });
      say(apiKey ? "The key is stored" : "The key is removed");
      onClose();
    } catch (failure) {
      setError(message(failure));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Key of ${markedInLine(displayName || id)}`} onClose={onClose}>
      <form className="sheet-form" onSubmit={(event) => void store(event)}>
        <label className="stack">
          API key{hasApiKey && "; leave it empty to remove the present one"}
          <input
            className="field mono"
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        <p className="meta">It is tested, then stored in your own ~/.craft/config.json on the server's machine.</p>
        {error && (
          <p className="note bad" role="alert">
            {error}
          </p>
        )}
        <div className="row">
          <span className="grow" />
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn primary" disabled={busy || (!key.trim() && !hasApiKey)}>
            {busy ? "Testing…" : key.trim() || !hasApiKey ? "Test and store" : "Remove the key"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
