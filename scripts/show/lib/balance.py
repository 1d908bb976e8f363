"""One address before several servers: python3 balance.py PORT ADDRESS...

Each connection goes to the next server in turn, or to the one after it while that one is away.
"""

import asyncio
import itertools
import sys

port, *addresses = sys.argv[1:]
turns = itertools.count()


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connection(reader, writer):
    first = next(turns)
    for nth in range(len(addresses)):
        host, port = addresses[(first + nth) % len(addresses)].rsplit(":", 1)
        try:
            there = await asyncio.open_connection(host, int(port))
        except OSError:
            continue
        await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer))
        return
    writer.close()


async def main():
    server = await asyncio.start_server(connection, "127.0.0.1", int(port))
    print("balancing", flush=True)
    await server.serve_forever()


asyncio.run(main())
