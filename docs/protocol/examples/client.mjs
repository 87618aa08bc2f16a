// A client over WebSocket in plain JavaScript: asks once, shows the answer, answers approvals. For Node 22 or a browser;
// Node 20 takes it with --experimental-websocket.
//   BOBBIN_URL="ws://127.0.0.1:9100/ws?token=$(bobbin token)" node client.mjs 'run `make test`'
const socket = new WebSocket(process.env.BOBBIN_URL);
const waiting = new Map();
let last = 0;

const send = (message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
const request = (method, params) =>
  new Promise((resolve, reject) => {
    send({ id: ++last, method, params });
    waiting.set(last, { resolve, reject });
  });

socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.method === undefined) {
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) reject(new Error(message.error.data?.detail ?? message.error.message));
    else resolve(message.result);
  } else if (message.method === "item/approval/request") {
    console.log(`allowed: ${message.params.operation}`);
    send({ id: message.id, result: { decision: "accept" } });
  } else if (message.id !== undefined) {
    send({ id: message.id, error: { code: -32601, message: `Method not found: ${message.method}` } });
  } else if (message.method === "item/agentMessage/delta") {
    process.stdout.write(message.params.delta);
  } else if (/^turn\/(completed|failed|cancelled)$/.test(message.method)) {
    console.log(`\n${message.params.turn.status}`);
    socket.close();
  }
};

await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
await request("initialize", { clientInfo: { name: "stranger", version: "1" }, capabilities: {} });
send({ method: "initialized", params: {} });
const { thread } = await request("thread/start", { identity: { channelName: "cli" } });
const input = [{ type: "text", text: process.argv[2] ?? "list the files" }];
await request("turn/start", { threadId: thread.id, input });
