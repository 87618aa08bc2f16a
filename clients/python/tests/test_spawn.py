"""Servers that the client starts itself, and programs in place of servers."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import unittest
from typing import Any

from bobbin_client import Backoff, Client, Connecting, Exited, Refused, connect, find_server, spawn

from .support import BINARY, TOKEN, WAIT, ServedTest, Workspace

FAKE = """
import json, os, sys, time
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        send({"id": message["id"], "result": {"serverInfo": {}, "capabilities": {}}})
    elif message["method"] == "initialized":
        %s
    else:
        send({"id": message["id"], "result": {"pid": os.getpid()}})
"""


def fake(code: str, *, quiet: bool = True) -> Connecting:
    """Starts a program that answers the handshake and then runs `code`."""
    return spawn([sys.executable, "-c", FAKE % code], quiet=quiet, reconnect=None)


async def end(client: Client) -> Exception:
    """Returns why a client that does not connect again has ended."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.events().__anext__(), WAIT)
    assert client.error is not None
    return client.error


class WhyItEnded(unittest.IsolatedAsyncioTestCase):
    async def test_a_chatty_stderr_blocks_nothing_and_its_last_lines_are_in_the_error(self) -> None:
        code = (
            "[sys.stderr.write(f'line {n} ' + 'x' * 80 + '\\n') for n in range(50_000)]; "
            "sys.stderr.write('y' * 100_000 + '\\nthe end\\n'); sys.exit(3)"
        )
        heard = io.StringIO()
        with contextlib.redirect_stderr(heard):
            async with fake(code, quiet=False) as client:
                error = await end(client)
        assert isinstance(error, Exited)
        self.assertEqual(error.code, 3)
        self.assertRegex(error.stderr, r"line 49999 x+\ny{1000}…\nthe end$")
        self.assertLess(len(str(error)), 3_000)
        self.assertEqual(heard.getvalue().count("line "), 50_000)

    async def test_a_line_without_an_end_is_not_collected_for_ever(self) -> None:
        async with fake("[sys.stdout.write('x' * (1 << 20)) for _ in iter(int, 1)]") as client:
            self.assertRegex(str(await end(client)), "more than 80 MiB")

    async def test_a_signal_is_a_negative_code(self) -> None:
        async with fake("pass") as client:
            answer: Any = await client.request("channel/list")
            os.kill(answer["pid"], signal.SIGKILL)
            error = await end(client)
        assert isinstance(error, Exited)
        self.assertEqual(error.code, -signal.SIGKILL)

    async def test_a_server_is_in_a_group_of_its_own_and_hears_no_interrupt(self) -> None:
        async with fake("pass") as client:
            answer: Any = await client.request("channel/list")
            self.assertEqual(os.getpgid(answer["pid"]), answer["pid"])

    async def test_what_cannot_be_started_is_named(self) -> None:
        with self.assertRaisesRegex(Refused, "nowhere"):
            await spawn(["/nowhere/bobbin"])
        with self.assertRaisesRegex(Refused, "nowhere"):
            await spawn([sys.executable], cwd="/nowhere")


class OwnServers(ServedTest):
    async def test_who_starts_a_server_hears_why_it_does_not_run_and_joins_the_one_that_does(self) -> None:
        async with connect(self.server.url, token=TOKEN) as client:
            await client.request("model/list")
        with self.assertRaises(Exited) as taken:
            await spawn(self.workspace.stdio, env=self.workspace.env, quiet=True)
        self.assertEqual(taken.exception.code, 6)
        self.assertRegex(str(taken.exception), r"is served by process \d+ at ws:")

        cwd, env = str(self.workspace.files), self.workspace.env
        found = await find_server(cwd, program=BINARY, env=env)
        self.assertEqual(found, {"url": self.server.url, "token": TOKEN})
        async with connect(**found) as client:
            await client.request("model/list")
        await self.server.stop()
        with self.assertRaisesRegex(Exited, "no server runs"):
            await find_server(cwd, program=BINARY, env=env)

        with self.assertRaises(Exited) as wrong:
            await spawn([*self.workspace.stdio, "--nonsense"], env=env, quiet=True)
        self.assertEqual(wrong.exception.code, 2)
        self.assertIn("--nonsense", wrong.exception.stderr)

    async def test_a_server_that_is_killed_is_started_again_and_says_why_meanwhile(self) -> None:
        workspace = Workspace()
        self.addCleanup(workspace.remove)
        lost: list[Exception | None] = []

        def changed(ready: bool) -> None:
            if not ready:
                lost.append(client.trouble)

        client = await spawn(
            workspace.stdio, env=workspace.env, quiet=True, reconnect=Backoff(first=0.01, most=0.1), on_connection=changed
        )
        thread = await client.start_thread()
        await thread.ask("say one")
        os.kill(self.pid(workspace), signal.SIGKILL)
        await asyncio.wait_for(thread.ask("say two"), WAIT)
        self.assertEqual(len(thread.turns), 2)
        assert isinstance(lost[0], Exited)
        self.assertEqual(lost[0].code, -signal.SIGKILL)
        self.assertIsNone(client.trouble)
        pid = self.pid(workspace)
        await client.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    async def test_a_client_that_is_closed_at_once_leaves_no_server(self) -> None:
        workspace = Workspace()
        self.addCleanup(workspace.remove)
        client = await spawn(workspace.stdio, env=workspace.env, quiet=True)
        pid = self.pid(workspace)
        await client.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    async def test_a_server_ends_when_the_program_that_started_it_is_killed(self) -> None:
        workspace = Workspace()
        self.addCleanup(workspace.remove)
        program = (
            "import asyncio, sys; from bobbin_client import spawn\n"
            "async def main():\n    client = await spawn(sys.argv[1:])\n    print('up', flush=True)\n"
            "    await asyncio.Event().wait()\nasyncio.run(main())"
        )
        with tempfile.TemporaryFile() as nothing:
            parent = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, *workspace.stdio,
                stdin=nothing, stdout=asyncio.subprocess.PIPE,
                env={**workspace.env, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            assert parent.stdout is not None
            await asyncio.wait_for(parent.stdout.readline(), WAIT)
            parent.kill()
            await parent.wait()
        # The folder is free once the server has ended.
        quick = Backoff(first=0.01, most=0.1)
        for attempt in range(1000):
            try:
                client = await spawn(workspace.stdio, env=workspace.env, quiet=True)
            except Exited as error:
                self.assertEqual(error.code, 6)
                await asyncio.sleep(quick.seconds(attempt))
            else:
                return await client.close()
        self.fail("it goes on")

    @staticmethod
    def pid(workspace: Workspace) -> int:
        return int(json.loads((workspace.files / ".craft/appserver.lock").read_text())["pid"])
