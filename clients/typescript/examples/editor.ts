// What an editor's extension does: a server of its own for the folder, or the one that the user has running.
import { answer, type Client, type ClientOptions, connect, ConnectionError } from "@bobbin/client";
import { findServer, spawn } from "@bobbin/client/node";

const TAKEN = 6;

const options: Omit<ClientOptions, "url"> = {
  clientInfo: { name: "editor", version: "1" },
  handlers: {
    // An editor would show a dialog here, and close it when the signal is aborted: then another client has answered.
    "item/approval/request": ({ operation }) => ({ decision: operation.startsWith("touch ") ? "accept" : "decline" }),
  },
};

async function open(cwd: string): Promise<Client> {
  try {
    return await spawn({ ...options, cwd, onStderr: (line) => console.error(`[bobbin] ${line}`) });
  } catch (error) {
    if (!(error instanceof ConnectionError && error.reason.code === TAKEN)) throw error;
    return connect({ ...options, ...(await findServer({ cwd })) });
  }
}

const client = await open(process.cwd());
client.subscribe(() => console.log(client.getSnapshot().state));
const { thread } = await client.request("thread/start", { identity: { channelName: "editor" } });
console.log(answer(await client.openThread(thread.id).ask(process.argv[2] ?? "list the files")));
await client.close();
