#!/usr/bin/env python3
"""A FineCode runner for the stories: `lint` finds, `format` changes, `fix` answers the new text alone, `wait` runs until it is cancelled."""

import json
import sys
import threading

lock = threading.Lock()
stopped = threading.Event()


def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])


def write(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with lock:
        sys.stdout.buffer.write(b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def at(line, character, message, code):
    place = {"line": line, "character": character}
    return {"range": {"start": place, "end": place}, "message": message, "code": code, "source": "lab", "severity": 2}


DIFF = "--- a/brew.py\n+++ b/brew.py\n@@ -1,2 +1,2 @@\n import tea\n-tea.pour( 1 )\n+tea.pour(1)\n"
RESULTS = {
    "lint": ({"messages": {f"file://{sys.argv[2].split('=', 1)[1]}/brew.py": [at(1, 9, "space inside of brackets", "L201"), at(4, 0, "<b>unused</b>", "L7")]}}, "2 findings", 1),
    "format": ({"changed": True}, DIFF, 0),
    "fix": ({"changed": True, "code": "import tea\ntea.pour(1)\n"}, "", 0),
    "wait": ({}, "waited", 0),
}


def run(message):
    params = message["params"]
    name, token = params["actionName"], (params.get("options") or {}).get("progressToken")

    def progress(**value):
        if token is not None:
            write({"method": "$/progress", "params": {"token": token, "value": json.dumps(value)}})

    progress(type="begin", title=f"{name} of the kettle", message="", percentage=0, cancellable=True, total=2)
    progress(type="report", message="brew.py", percentage=50)
    if name == "wait":
        stopped.wait()
        write({"id": message["id"], "error": {"code": -32800, "message": "cancelled"}})
        return
    progress(type="end", message="")
    result, text, code = RESULTS[name]
    formats = json.dumps({"json": result, "string": text})
    write({"id": message["id"], "result": {"status": "success", "result_by_format": formats, "return_code": code}})


print("the runner of the lab", file=sys.stderr, flush=True)
while True:
    message = read()
    method, answer = message.get("method"), {}
    if method == "actions/run":
        stopped.clear()
        threading.Thread(target=run, args=(message,), daemon=True).start()
        continue
    if method == "$/cancelRequest":
        stopped.set()
    if method == "exit":
        sys.exit(0)
    if method == "initialize":
        answer = {"capabilities": {"textDocumentSync": 1}, "serverInfo": {"name": "lab", "version": "v1"}}
    elif method == "finecodeRunner/resolveActionMeta":
        answer = {f"lab.{name}": {"canonical_source": f"lab.{name}", "runs_concurrently": False} for name in RESULTS}
    elif method == "shutdown":
        answer = None
    if "id" in message:
        write({"id": message["id"], "result": answer})
