"""Shows what happens in a Thread of somebody else: `BOBBIN_TOKEN=$(bobbin token) python follow.py THREAD_ID`."""

import asyncio
import os
import sys

from bobbin_client import connect


async def main() -> None:
    url = os.environ.get("BOBBIN_URL", "ws://127.0.0.1:9100/ws")
    async with connect(url, token=os.environ["BOBBIN_TOKEN"]) as client:
        thread = await client.follow(sys.argv[1])
        async for state in thread.changes():
            turn = state.turns[-1] if state.turns else None
            print(state.info.get("displayName"), "|", turn["status"] if turn else "empty", "|", len(state.items), "items")


asyncio.run(main())
