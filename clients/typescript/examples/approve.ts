// Allows commands that begin with `make`, and no other call.
import { connect } from "@bobbin/client";
import { findServer } from "@bobbin/client/node";

const client = await connect({
  ...(await findServer()), // or { url, token }
  clientInfo: { name: "approve", version: "1" },
  handlers: {
    "item/approval/request": ({ approvalType, operation }) => ({
      decision: approvalType === "shell" && operation.startsWith("make ") ? "accept" : "decline",
    }),
  },
});
const { thread } = await client.request("thread/start", { identity: { channelName: "cli" } });
const turn = await client.openThread(thread.id).ask("run `make test`");
for (const item of turn.items) {
  if (item.type === "approvalResponse") console.log(item.payload.decision);
  if (item.type === "toolResult") console.log(item.payload.result);
}
client.close();
