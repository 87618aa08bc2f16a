//! Inputs that wait for the end of the Turn. The user can send one to the running Turn, or take it back into the field.
import type { QueuedTurnInput, ThreadSnapshot } from "@bobbin/client";
import { useClient, useMayChange } from "../server/context";
import { Icon } from "../ui/Icon";
import { complain } from "../ui/toast";

export function Queue({
  snapshot,
  onTakenBack,
}: {
  snapshot: ThreadSnapshot;
  onTakenBack: (input: QueuedTurnInput) => void;
}) {
  const client = useClient();
  const mayChange = useMayChange();
  const { id: threadId, queuedInputs, thread, turns } = snapshot;
  const turn = turns.at(-1);
  if (queuedInputs.length === 0) return null;

  /** Starts a Turn with a queued input. After a stop, it would wait for the end of the next Turn. */
  async function send(input: QueuedTurnInput) {
    await client.request("turn/queue/remove", { threadId, queuedInputId: input.id });
    const parts = input.nativeInputParts ?? [{ type: "text" as const, text: input.displayText }];
    await client.request("turn/start", { threadId, input: parts }).catch((error: unknown) => {
      onTakenBack(input);
      throw error;
    });
  }

  return (
    <ul className="queue" aria-label="Queue">
      {queuedInputs.map((input) => (
        <li key={input.id} className="row">
          <span className="meta">{input.status === "queued" ? "queued" : "next step"}</span>
          <span className="cut grow">{input.displayText}</span>
          {input.actor && <span className="meta">by {input.actor.name}</span>}
          {mayChange(input.actor ?? undefined) && input.status === "queued" && thread?.runtime.running && turn && (
            <button
              type="button"
              className="btn plain small"
              onClick={() =>
                void client
                  .request("turn/steer", { threadId, expectedTurnId: turn.id, queuedInputId: input.id })
                  .catch(complain)
              }
            >
              Send now
            </button>
          )}
          {mayChange(input.actor ?? undefined) && !thread?.runtime.running && (
            <button type="button" className="btn plain small" onClick={() => void send(input).catch(complain)}>
              Send now
            </button>
          )}
          <button
            type="button"
            className="btn plain icon small"
            hidden={!mayChange(input.actor ?? undefined)}
            aria-label={`Remove from the queue: ${input.displayText.slice(0, 60)}`}
            title="Remove from the queue and edit"
            onClick={() =>
              void client
                .request("turn/queue/remove", { threadId, queuedInputId: input.id })
                .then(() => onTakenBack(input), complain)
            }
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
