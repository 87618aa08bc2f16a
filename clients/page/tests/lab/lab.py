#!/usr/bin/env python3
"""An extension for the stories: a schema, buttons, dialogs and a window. `LAB_URL` is what the window shows."""

import json
import os
import sys


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
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


calls = 0


def call(method, params):
    global calls
    calls += 1
    mine = calls
    write({"id": mine, "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == mine and "method" not in message:
            return message.get("result") or {}
        handle(message)


ICON = "<svg viewBox='0 0 20 20' fill='none' stroke='currentColor'><path d='M4 10h12M10 4v12'/></svg>"
# What is left of it is shown as a picture, in which nothing runs.
EVIL = "<svg viewBox='0 0 20 20' onload='alert(1)'><script>alert(2)</script><rect width='20' height='20' fill='red'/></svg>"
BUTTONS = {
    "lab/order": "Order",
    "lab/say": "Say",
    "lab/window": "Chart",
    "lab/file": "Import",
    "lab/pid": "Slow",
}


def handle(message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        buttons = [{"id": c, "label": label, "icon": EVIL if label == "Say" else ICON, "command": c, "group": "lab"} for c, label in BUTTONS.items()]
        tube = {"field": 1, "name": "Tube", "values": {"R": "Red", "B": "Blue"}, "note": "The colour of the cap."}
        schema = {"segments": {"ZLB": {"fields": [tube]}}}
        result = {"name": "Lab", "version": "1.2.0", "capabilities": {"commands": list(BUTTONS)}, "toolbarButtons": buttons, "schema": schema}
        write({"id": message["id"], "result": result})
    elif method == "shutdown":
        write({"id": message["id"], "result": {"success": True}})
        sys.exit(0)
    elif method == "command/execute":
        commands[params["command"]]()
    elif "id" in message and method:
        write({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


def order():
    if call("ui/showConfirm", {"title": "Order", "message": "Order the tests of this patient?", "buttons": "yesNo"}).get("confirmed"):
        patches = [{"path": "ORC", "create": True}, {"path": "ORC.1", "value": "NW"}, {"path": "PV1.2", "value": "I"}]
        call("editor/patchMessage", {"patches": patches})
        call("ui/showMessage", {"title": "Order", "message": "It is ordered.", "kind": "info"})


def say():
    call("ui/showMessage", {"title": "<img src=x onerror=alert(1)>", "message": "<script>alert(2)</script> **text**", "kind": "warning"})


def window():
    call("ui/openWindow", {"url": os.environ["LAB_URL"], "title": "Chart", "width": 420, "height": 260})


def file():
    path = call("ui/openFile", {"title": "Which results?", "filters": [{"name": "HL7", "extensions": ["hl7"]}]}).get("path")
    call("ui/showMessage", {"message": f"chosen: {path}"})


def pid():
    call("ui/showConfirm", {"message": f"process {os.getpid()}"})


commands = {"lab/order": order, "lab/say": say, "lab/window": window, "lab/file": file, "lab/pid": pid}

print("the lab is open", file=sys.stderr, flush=True)
while True:
    handle(read())
