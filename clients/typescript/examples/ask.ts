// Asks something and shows the answer as it arrives: BOBBIN_TOKEN=… node ask.js 'list the files'
import { connect } from "@bobbin/client";

const client = await connect({
  url: "ws://127.0.0.1:9100/ws",
  token: process.env["BOBBIN_TOKEN"] ?? "",
  clientInfo: { name: "ask", version: "1" },
});
const { thread } = await client.request("thread/start", { identity: { channelName: "cli" } });
const live = client.openThread(thread.id);
client.on("item/agentMessage/delta", ({ delta }) => process.stdout.write(delta));
const turn = await live.ask(process.argv[2] ?? "list the files");
console.log(`\n${turn.status}, ${turn.tokenUsage?.totalTokens ?? 0} tokens`);
client.close();
