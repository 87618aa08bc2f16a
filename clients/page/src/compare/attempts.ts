//! Attempts at one task: Threads in worktrees whose branches share a folder, so that the server needs to know nothing of them.
import type { Client, InputPart, ThreadConfiguration, WorktreeStatus } from "@bobbin/client";
import { identity } from "../server/context";
import { complain } from "../ui/toast";

/** Most attempts at once: as many as fit side by side. */
export const MOST = 4;
/** Longest time to make a worktree. */
export const CREATION_MS = 180_000;
/** Characters of the task in a title. */
const TITLE = 60;

const BRANCH = /^bobbin\/try-([a-z0-9]+)\/\d$/;

/** Returns the name that the attempts at a task share, if a branch is that of an attempt. */
export const groupOf = (branch: string): string | undefined => BRANCH.exec(branch)?.[1];

/** Returns the attempts of a group, in the order in which they were started. */
export const attemptsOf = (all: readonly WorktreeStatus[], group: string): WorktreeStatus[] =>
  all
    .filter(({ worktree }) => groupOf(worktree.branchName) === group)
    .toSorted((one, other) => one.worktree.branchName.localeCompare(other.worktree.branchName));

/** Returns the name of what works on an attempt. */
export const workerOf = ({ engine, model }: ThreadConfiguration): string =>
  engine ?? model?.slice(model.indexOf("/") + 1) ?? "Default model";

/** Starts the attempts and returns the name of their group. If a worktree cannot be made, those before it go again. */
export async function startAttempts(
  client: Client,
  text: string,
  input: InputPart[],
  configurations: readonly ThreadConfiguration[],
): Promise<string> {
  const group = crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? "0";
  const task = text.trim().split("\n", 1)[0]?.slice(0, TITLE) ?? "";
  const made: string[] = [];
  try {
    for (const [index, config] of configurations.entries()) {
      const start = {
        identity,
        config,
        displayName: `${workerOf(config)}: ${task}`,
        branchName: `bobbin/try-${group}/${index + 1}`,
      };
      const { thread } = await client.request("worktree/createAndStart", start, { timeoutMs: CREATION_MS });
      made.push(thread.id);
    }
  } catch (error) {
    // What cannot be removed stays in the list of Threads, and the first error is the one to show.
    const remove = async (threadId: string) => {
      await client.request("worktree/remove", { threadId, force: true });
      await client.request("thread/delete", { threadId });
    };
    await Promise.allSettled(made.map(remove));
    throw error;
  }
  const started = await Promise.allSettled(made.map((threadId) => client.request("turn/start", { threadId, input })));
  // The message can be sent to the others in their own Threads.
  for (const one of started) if (one.status === "rejected") complain(one.reason);
  return group;
}
