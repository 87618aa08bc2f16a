//! Beside the conversation: changed files, the plan, terminals and subagents.
import type { ThreadSnapshot } from "@bobbin/client";
import { useMemo } from "react";
import type { SideTab } from "../app/route";
import { shortTime } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Agents } from "./Agents";
import { Plan } from "./Plan";
import { Terminals } from "./Terminals";
import { TurnDiff } from "./TurnDiff";
import { mayUndo } from "./turnChanges";

const tabs: [SideTab, string][] = [
  ["changes", "Changes"],
  ["plan", "Plan"],
  ["terminals", "Terminals"],
  ["agents", "Agents"],
];

interface Props {
  snapshot: ThreadSnapshot;
  tab: SideTab;
  onTab: (tab: SideTab | null) => void;
  turnId?: string;
  onTurn: (turnId: string) => void;
}

export default function Side({ snapshot, tab, onTab, turnId, onTurn }: Props) {
  return (
    <aside className="side" aria-label="Details">
      <div className="bar">
        <div className="tabs grow" role="group" aria-label="Details">
          {tabs.map(([name, label]) => (
            <button key={name} type="button" aria-pressed={tab === name} onClick={() => onTab(name)}>
              {label}
            </button>
          ))}
        </div>
        <button type="button" className="btn plain icon" aria-label="Close the details" onClick={() => onTab(null)}>
          <Icon name="close" />
        </button>
      </div>
      <div className="side-body">
        {tab === "changes" && <Changes snapshot={snapshot} turnId={turnId} onTurn={onTurn} />}
        {tab === "plan" && <Plan plan={snapshot.thread?.plan ?? undefined} />}
        {tab === "terminals" && <Terminals threadId={snapshot.id} />}
        {tab === "agents" && <Agents snapshot={snapshot} />}
      </div>
    </aside>
  );
}

function Changes({
  snapshot,
  turnId,
  onTurn,
}: {
  snapshot: ThreadSnapshot;
  turnId?: string;
  onTurn: (turnId: string) => void;
}) {
  const turns = useMemo(() => snapshot.turns.filter(mayUndo).toReversed(), [snapshot.turns]);
  const turn = turns.find((one) => one.id === turnId) ?? turns[0];
  if (!turn) return <p className="empty">No Turn has changed files.</p>;
  return (
    <>
      <select className="pick boxed" aria-label="Turn" value={turn.id} onChange={(event) => onTurn(event.target.value)}>
        {turns.map((one) => (
          <option key={one.id} value={one.id}>
            {shortTime(one.startedAt)} {asked(one)}
          </option>
        ))}
      </select>
      <TurnDiff turn={turn} />
    </>
  );
}

function asked(turn: ThreadSnapshot["turns"][number]): string {
  const item = turn.items[0];
  return item?.type === "userMessage" ? item.payload.text.slice(0, 60) : turn.id;
}
