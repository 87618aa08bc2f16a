"""Connections that are cut at any byte, and servers that are killed: in the end the client knows what the store knows.

`BOBBIN_ROUNDS` says how many rounds are played (10), `BOBBIN_SEED` which one first (1).
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable
from typing import Any, cast

from bobbin_client import Backoff, Client, RequestError, ThreadState, connect
from bobbin_client.types import ApprovalDecision, ApprovalRequestParams

from .support import TOKEN, WAIT, Proxy, ServedTest
from .test_client import same_as_stored

ROUNDS = int(os.environ.get("BOBBIN_ROUNDS", "10"))
SEED = int(os.environ.get("BOBBIN_SEED", "1"))
TROUBLES = 12
"""Connections of a round that are cut."""
GONE = (-32013, -32014)


async def accept(params: ApprovalRequestParams) -> ApprovalDecision:
    return "accept"


class Chaos(ServedTest):
    async def test_a_client_that_loses_its_connection_and_server_knows_what_is_stored(self) -> None:
        cuts = kills = 0
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                some = await asyncio.wait_for(self.round(random.Random(seed)), 2 * WAIT)
                cuts, kills = cuts + some[0], kills + some[1]
        print(f"{ROUNDS} rounds, {cuts} connections cut, {kills} servers killed", file=sys.stderr)

    async def round(self, chance: random.Random) -> tuple[int, int]:
        left, cuts, killing = TROUBLES, 0, list[asyncio.Task[None]]()

        def trouble() -> int | None:
            # The first connection has enough for the handshake: `connect` does not try again.
            nonlocal left
            left -= 1
            least = 4_000 if left == TROUBLES - 1 else 300
            return chance.randrange(least, 12_000) if left >= 0 else None

        async def again() -> None:
            await self.server.kill()
            await self.server.start()

        def cut() -> None:
            nonlocal cuts
            cuts += 1
            if left >= 0 and chance.random() < 0.3 and all(task.done() for task in killing):
                killing.append(asyncio.create_task(again()))

        async def calm() -> None:
            nonlocal left
            left = -1
            await asyncio.gather(*killing)

        proxy = Proxy(self.server.port, self.server.proxy_port, trouble, cut)
        await proxy.start()
        try:
            quick = Backoff(first=0.01, most=0.1)
            async with connect(proxy.url, token=TOKEN, approval=accept, reconnect=quick) as client:
                await self.work(client, chance, calm)
        finally:
            await proxy.stop()
            await asyncio.gather(*killing)
        return cuts, len(killing)

    async def work(self, client: Client, chance: random.Random, calm: Callable[[], Awaitable[None]]) -> None:
        seen: list[int] = []
        thread = await client.start_thread("chaos")
        with client.events(thread.id, limit=1_000_000) as events:
            reader = asyncio.create_task(self.watch(events, seen))
            for number in range(6):
                await self.act(client, thread, number, chance.randrange(6))
            await calm()
            # The connection may be cut once more between the last two events.
            await thread.until(lambda state: not state.info["runtime"]["running"] and not state.info["queuedInputs"])
            await same_as_stored(self, thread)
            reader.cancel()
        self.assertEqual(seen, sorted(set(seen)), "an event came twice or out of order")
        done = self.workspace.files / f"{thread.id}.txt"
        lines = done.read_text().split() if done.exists() else []
        self.assertEqual(len(lines), len(set(lines)), "a command ran twice")

    @staticmethod
    async def watch(events: Any, seen: list[int]) -> None:
        async for event in events:
            if "seq" in event["params"]:
                seen.append(event["params"]["seq"])

    async def act(self, client: Client, thread: ThreadState, number: int, kind: int) -> None:
        run = f"run `echo {number} >> {thread.id}.txt`"
        if kind == 0:
            await thread.ask("repeat 400 word")
        elif kind == 1:
            await thread.ask(run)
        elif kind == 2:
            turns = len(thread.turns)
            await client.request("turn/enqueue", {"threadId": thread.id, "input": [{"type": "text", "text": run}]})
            await thread.until(lambda state: len(state.turns) > turns and state.running is None)
        elif kind == 3:
            title = f"title {number}"
            await client.request("thread/rename", {"threadId": thread.id, "displayName": title})
            await thread.until(lambda state: state.info.get("displayName") == title)
        elif kind == 4:
            turn = await thread.start("repeat 2000 word")
            try:
                await client.request("turn/interrupt", {"threadId": thread.id, "turnId": turn["id"]})
            except RequestError as error:
                self.assertIn(error.code, GONE)
            await thread.until(lambda state: state.ended(turn["id"]))
        elif thread.turns:
            turns = len(thread.turns)
            await client.request("thread/rollback", {"threadId": thread.id, "numTurns": 1})
            await thread.until(lambda state: len(cast("list[Any]", state.turns)) < turns)
