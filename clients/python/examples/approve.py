"""Asks a running server and lets the user decide: `python approve.py 'run `make test`'`."""

import asyncio
import sys

from bobbin_client import answer, connect, find_server
from bobbin_client.types import ApprovalDecision, ApprovalRequestParams


async def decide(params: ApprovalRequestParams) -> ApprovalDecision:
    print(params.get("reason", ""), params["operation"], sep="\n  ")
    said = await asyncio.to_thread(input, "Allow? [y/n] ")
    return "accept" if said == "y" else "decline"


async def main() -> None:
    async with connect(**await find_server(), approval=decide) as client:
        thread = await client.start_thread()
        print(answer(await thread.ask(sys.argv[1])))


asyncio.run(main())
