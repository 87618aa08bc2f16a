// Asks something and shows the answer as it arrives: node ask.js 'list the files'
import { connect } from "@bobbin/client";
import { findServer } from "@bobbin/client/node";

const client = await connect({
  ...(await findServer()), // or { url, token }
  clientInfo: { name: "ask", version: "1" },
});
const { thread } = await client.request("thread/start", { identity: { channelName: "cli" } });
const live = client.openThread(thread.id);
client.on("item/agentMessage/delta", ({ delta }) => process.stdout.write(delta));
const turn = await live.ask(process.argv[2] ?? "list the files");
console.log(`\n${turn.status}, ${turn.tokenUsage?.totalTokens ?? 0} tokens`);
client.close();
