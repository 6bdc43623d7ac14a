#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two who change one object at a time, with conditions: nobody's change is lost, and none is made twice.

    http_race.py

NUMASTORE names the program. Status: 0, 1 failed, 77 cannot run here.
"""

import sys
import threading

from http_refusals import Answer, HttpNumastore, get, sized
from memcache_servers import PATIENCE_S, Connection, check, check_equal, main_of

ROUNDS = 500


def ask(connection, request):
    connection.send(request)
    return Answer(connection)


def put_if(connection, tag, value, field=b"If-Match"):
    return ask(connection, sized(value, b"%s: %s\r\n" % (field, tag), b"/n")).status


class Writer(threading.Thread):
    """Runs what it is told with a connection of its own; join() raises what went wrong there."""

    def __init__(self, port, run):
        super().__init__()
        self.port, self.work, self.result, self.failure = port, run, None, None
        self.start()

    def run(self):
        try:
            with Connection(self.port) as connection:
                self.result = self.work(connection)
        except Exception as failure:  # for who waits for this thread
            self.failure = failure

    def end(self):
        self.join()
        check(self.failure is None, "a writer:", self.failure)
        return self.result


def pairs(server):
    """Both know the same tag: one wins, and what is there then is his."""
    with Connection(server.http) as http:
        check_equal(ask(http, sized(b"0", path=b"/n")).status, 201, "PUT")
        gate = threading.Barrier(3, timeout=PATIENCE_S)
        tags = []

        def write(connection, name):
            statuses = []
            for i in range(ROUNDS):
                gate.wait()
                statuses.append(put_if(connection, tags[i], b"%s%d" % (name, i)))
                gate.wait()
            return statuses

        writers = [Writer(server.http, lambda connection, name=name: write(connection, name)) for name in (b"a", b"b")]
        values = []
        for _ in range(ROUNDS):
            tags.append(ask(http, get(b"/n")).fields[b"etag"])
            gate.wait()
            gate.wait()
            values.append(ask(http, get(b"/n")).body)
        results = [writer.end() for writer in writers]
    for i, (first, second, value) in enumerate(zip(*results, values)):
        check_equal(sorted((first, second)), [204, 412], f"round {i}")
        check_equal(value, (b"a%d" if first == 204 else b"b%d") % i, f"what is there after round {i}")
    check_equal(len(set(tags)), ROUNDS, "tags")


def sums(server):
    """Both add one to what they find, again when another was faster: in the end it is the sum."""
    with Connection(server.http) as http:
        check_equal(ask(http, sized(b"0", path=b"/n")).status, 204, "PUT")

        def add(connection):
            done = 0
            while done < ROUNDS // 2:
                found = ask(connection, get(b"/n"))
                status = put_if(connection, found.fields[b"etag"], b"%d" % (int(found.body) + 1))
                check(status in (204, 412), "PUT:", status)
                done += status == 204

        for writer in [Writer(server.http, add) for _ in range(2)]:
            writer.end()
        check_equal(ask(http, get(b"/n")).body, b"%d" % ROUNDS, "the sum")


def creations(server):
    """If-None-Match: * makes it for one of them only."""
    with Connection(server.port) as memcache:
        gate = threading.Barrier(3, timeout=PATIENCE_S)

        def create(connection):
            statuses = []
            for _ in range(ROUNDS // 5):
                gate.wait()
                statuses.append(put_if(connection, b"*", b"x", b"If-None-Match"))
                gate.wait()
            return statuses

        writers = [Writer(server.http, create) for _ in range(2)]
        for _ in range(ROUNDS // 5):
            check_equal(memcache.ask(b"delete /n\r\n"), b"DELETED\r\n", "delete")
            gate.wait()
            gate.wait()
        for i, statuses in enumerate(zip(*(writer.end() for writer in writers))):
            check_equal(sorted(statuses), [201, 412], f"round {i}")


def run():
    with HttpNumastore(cores=2) as server:
        for part in (pairs, sums, creations):
            part(server)
            print(f"{part.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    sys.exit(main_of(run))
