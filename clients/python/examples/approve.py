"""Asks a running server and lets the user decide: `BOBBIN_TOKEN=$(bobbin token) python approve.py 'run `make test`'`."""

import asyncio
import os
import sys

from bobbin_client import answer, connect
from bobbin_client.types import ApprovalDecision, ApprovalRequestParams


async def decide(params: ApprovalRequestParams) -> ApprovalDecision:
    print(params.get("reason", ""), params["operation"], sep="\n  ")
    said = await asyncio.to_thread(input, "Allow? [y/n] ")
    return "accept" if said == "y" else "decline"


async def main() -> None:
    url = os.environ.get("BOBBIN_URL", "ws://127.0.0.1:9100/ws")
    async with connect(url, token=os.environ["BOBBIN_TOKEN"], approval=decide) as client:
        thread = await client.start_thread()
        print(answer(await thread.ask(sys.argv[1])))


asyncio.run(main())
