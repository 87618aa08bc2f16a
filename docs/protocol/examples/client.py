"""A client over stdio in plain Python: starts a server for this directory, asks once, answers approvals.

    python3 client.py 'run `make test`'
"""

import json
import os
import subprocess
import sys

server = subprocess.Popen(
    [os.environ.get("BOBBIN", "bobbin"), "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def request(number, method, **params):
    """Sends a request and returns its result; what comes before the answer is shown."""
    send(id=number, method=method, params=params)
    while True:
        message = json.loads(server.stdout.readline())
        if "method" not in message and message["id"] == number:
            if "error" in message:
                sys.exit(message["error"]["message"])
            return message["result"]
        show(message)


def show(message):
    """Handles a message of the server. Returns whether it is the end of a Turn."""
    method, params = message["method"], message.get("params", {})
    if method == "item/approval/request":
        print(f"allowed: {params['operation']}")
        send(id=message["id"], result={"decision": "accept"})
    elif "id" in message:
        send(id=message["id"], error={"code": -32601, "message": f"Method not found: {method}"})
    elif method == "item/agentMessage/delta":
        print(params["delta"], end="", flush=True)
    elif method in ("turn/completed", "turn/failed", "turn/cancelled"):
        print(f"\n{params['turn']['status']}")
        return True
    return False


request(1, "initialize", clientInfo={"name": "stranger", "version": "1"}, capabilities={})
send(method="initialized", params={})
thread = request(2, "thread/start", identity={"channelName": "cli"})["thread"]
text = sys.argv[1] if len(sys.argv) > 1 else "list the files"
request(3, "turn/start", threadId=thread["id"], input=[{"type": "text", "text": text}])
while not show(json.loads(server.stdout.readline())):
    pass
server.stdin.close()
sys.exit(server.wait())
