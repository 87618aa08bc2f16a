//! Commands, skills and files that a text can name.
import type { TurnState } from "@bobbin/client";
import { useEffect, useMemo } from "react";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { changedPaths } from "../side/turnChanges";
import { rowsOf } from "../thread/rows";
import type { Sources } from "./suggest";

const NO_TURNS: readonly TurnState[] = [];

export function useSources(turns: readonly TurnState[] = NO_TURNS, threadId?: string): Sources {
  const client = useClient();
  const can = useServer()?.capabilities;
  const ended = turns.filter((turn) => turn.completedAt).length;
  // Those of another agent come with its Turns.
  const commands = useRequest("command/list", threadId ? { threadId } : {}, can?.commandManagement === true, ended);
  const skills = useRequest("skills/list", { includeUnavailable: false }, can?.skillsManagement === true);
  const { again } = skills;
  useEffect(
    () => client.on("workspace/configChanged", ({ regions }) => regions.includes("skills") && again()),
    [client, again],
  );
  const files = useFiles(turns);
  return useMemo(
    () => ({
      commands: commands.data?.commands ?? [],
      skills: (skills.data?.skills ?? []).filter((skill) => skill.enabled),
      files,
    }),
    [commands.data, skills.data, files],
  );
}

/** Returns files that the conversation has read or changed, the latest first. The user can type others. */
function useFiles(turns: readonly TurnState[]): readonly string[] {
  const ended = turns.filter((turn) => turn.completedAt).length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: paths of the running Turn come when it has ended
  return useMemo(() => {
    const paths = new Set<string>();
    for (const turn of turns.toReversed()) {
      for (const { path } of changedPaths(turn)) paths.add(path);
      for (const row of rowsOf([turn])) {
        const tools = row.kind === "tool" ? [row.tool] : row.kind === "looks" ? row.tools : [];
        for (const { what } of tools) if (what.verb === "Read" && what.object) paths.add(what.object);
      }
    }
    return [...paths];
  }, [ended]);
}
