"""A process that opens Watches on one connection and holds them until it is killed: hold_watches.py ENDPOINT RING COUNT.
It says "ready" when all are in sync."""

import sys
import threading

from ringd_client import Client, Watch

if __name__ == "__main__":
    client = Client(sys.argv[1])
    client.ListRings()  # a connection, also for no Watch
    watches = [Watch(client, rings=[sys.argv[2]], keep=False) for _ in range(int(sys.argv[3]))]
    for watch in watches:
        watch.wait_in_sync()
    print("ready", flush=True)
    threading.Event().wait()
