// Follows the Thread that was active last, whichever client it belongs to, until Ctrl-C.
import { connect, itemsOf } from "@bobbin/client";
import { findServer } from "@bobbin/client/node";

const client = await connect({
  ...(await findServer()), // or { url, token }
  clientInfo: { name: "follow", version: "1" },
});
const identity = { channelName: "cli" };
const { channels } = await client.request("channel/list");
const crossChannelOrigins = channels.map(({ name }) => name);
const { data } = await client.request("thread/list", { identity, crossChannelOrigins });
const latest = data[0];
if (!latest) throw new Error("There is no Thread yet.");
const live = await client.openThread(latest.id).ready();
const show = () => {
  const { phase, thread, turns } = live.getSnapshot();
  const last = itemsOf({ turns }).at(-1);
  console.log(phase, thread?.displayName, turns.at(-1)?.status, last?.type, last?.status);
};
show();
live.subscribe(show);
