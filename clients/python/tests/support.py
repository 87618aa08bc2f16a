"""A server in a folder of its own, and a proxy that cuts connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import socket
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

BINARY = os.environ.get("BOBBIN_BIN") or shutil.which("bobbin") or ""
TOKEN = "a-token-of-the-tests"
WAIT = 60.0
"""The longest time that anything may take."""


class Workspace:
    """A folder to serve, with a home of its own."""

    def __init__(self) -> None:
        self._dir = tempfile.TemporaryDirectory(prefix="bobbin-client-", ignore_cleanup_errors=True)
        self.root = Path(self._dir.name)
        self.files = self.root / "files"
        for folder in ("files", "home", "state"):
            (self.root / folder).mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "BOBBIN_STATE": str(self.root / "state"),
            "BOBBIN_TOKEN": TOKEN,
            "BOBBIN_LOG": "error",
        }
        self.stdio = [BINARY, "app-server", "--listen", "ws+stdio://127.0.0.1:0", "--workspace", str(self.files)]

    def remove(self) -> None:
        self._dir.cleanup()


class Server:
    """A server on a port that stays its own, however often it is killed."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.port, self.proxy_port = free_port(), free_port()
        allowed = {"AppServer": {"AllowedHosts": [f"127.0.0.1:{self.proxy_port}"]}}
        (workspace.root / "home/.craft").mkdir()
        (workspace.root / "home/.craft/config.json").write_text(json.dumps(allowed))
        self.url = f"ws://127.0.0.1:{self.port}/ws"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        address = f"ws://127.0.0.1:{self.port}"
        self._process = await asyncio.create_subprocess_exec(
            BINARY, "app-server", "--workspace", str(self.workspace.files), "--listen", address, env=self.workspace.env
        )
        await asyncio.wait_for(self._listening(self._process), WAIT)

    async def _listening(self, process: asyncio.subprocess.Process) -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            if process.returncode is not None:
                raise RuntimeError(f"the server has ended with {process.returncode}")
            with contextlib.suppress(asyncio.TimeoutError):  # Connections are refused at once: not a spin.
                await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(process.wait())), 0.01)

    async def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await asyncio.wait_for(self._process.wait(), WAIT)


class Proxy:
    """Carries bytes to a server. `trouble` returns after how many bytes a connection is cut; `cut` hears of it."""

    def __init__(self, port: int, own_port: int, trouble: Callable[[], int | None], cut: Callable[[], None]) -> None:
        self._port = port
        self._own_port = own_port
        self.url = f"ws://127.0.0.1:{own_port}/ws"
        self._trouble = trouble
        self._cut = cut
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._take, "127.0.0.1", self._own_port)

    async def stop(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far: asyncio.StreamWriter | None = None
        left = [self._trouble()]
        try:
            far_reader, far = await asyncio.open_connection("127.0.0.1", self._port)
            ways = [asyncio.create_task(self._carry(*way, left)) for way in ((reader, far), (far_reader, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        finally:
            self._tasks.discard(task)
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int | None]) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 14):
                budget = left[0]
                if budget is None:
                    writer.write(data)
                else:
                    writer.write(data[:budget])
                    left[0] = budget - len(data)
                await writer.drain()
                if budget is not None and budget <= len(data):
                    left[0] = 0
                    self._cut()
                    return


class ServedTest(unittest.IsolatedAsyncioTestCase):
    """A test with a server."""

    async def asyncSetUp(self) -> None:
        if not BINARY:
            self.skipTest("BOBBIN_BIN names no binary, and there is no `bobbin` on the path")
        self.workspace = Workspace()
        self.addCleanup(self.workspace.remove)
        self.server = Server(self.workspace)
        await self.server.start()
        self.addAsyncCleanup(self.server.stop)


def free_port() -> int:
    """Returns a port that nobody listens on, of those that systems do not give out by themselves."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
