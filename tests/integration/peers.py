#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Peers that do what they should not, and others that are served all the while.

    peers.py

Over HTTP and memcache: heads and values that come byte by byte or not to their end, answers that nobody reads, resets in
the middle, one connection too many, thousands of them one after the other, values that are announced and do not come,
a content type of its own for each value, and old values that slow readers are still reading while their keys get new
ones. NUMASTORE names the program. Status: 0, 1 failed, 77 cannot run here.
"""

import hashlib
import os
import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from http_refusals import Answer, HttpNumastore, get, sized
from memcache_servers import PATIENCE_S, Connection, check, check_equal, eventually, main_of

LARGE = 256 << 10
ADMIN_MOST = 32
TYPES_MOST = 255
DEADLINE_S = 1


def value_of(number, size=LARGE):
    block = hashlib.sha256(str(number).encode()).digest()
    return (b"%d " % number + block * (size // len(block) + 1))[:size]


def resident_kib(server):
    with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def store(server, key, value):
    with Connection(server.port) as memcache:
        check_equal(memcache.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)), b"STORED\r\n", key)


def fetch(server, key):
    with Connection(server.http) as connection:
        connection.send(get(key))
        answer = Answer(connection)
        return answer.body if answer.status == 200 else None


class Others(threading.Thread):
    """Who is served all the while; `with` ends them. That an object was evicted or flushed is no cause to complain."""

    def __init__(self, server):
        super().__init__()
        self.server, self.is_over, self.count, self.failure, self.slowest_s = server, False, 0, None, 0
        store(server, b"/others", b"here")

    def run(self):
        try:
            with Connection(self.server.http) as http, Connection(self.server.port) as memcache:
                while not self.is_over:
                    begun = time.monotonic()
                    http.send(get(b"/others"))
                    answer = Answer(http)
                    check((answer.status, answer.body) == (200, b"here") or answer.status == 404, answer.head)
                    found = memcache.ask(b"get /others\r\n", b"END\r\n")
                    check(found in (b"VALUE /others 0 4\r\nhere\r\nEND\r\n", b"END\r\n"), found)
                    self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
                    self.count += 1
                    time.sleep(0.005)
        except Exception as failure:  # for who waits for this thread
            self.failure = failure

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.is_over = True
        self.join()
        if kind is None:
            check(self.failure is None, "others were not served:", self.failure)
            check(self.count > 0, "no others")


def is_cut_off(what, port, begin, drip):
    with Connection(port) as connection:
        connection.send(begin)
        begun = time.monotonic()
        connection.socket.settimeout(0.1 if drip else PATIENCE_S)
        while True:
            check(time.monotonic() < begun + PATIENCE_S, what, "is waited for without end")
            try:
                if drip:
                    connection.send(b"x")
                if not connection.socket.recv(4096):
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        check(time.monotonic() - begun > DEADLINE_S * 0.9, what, "was not waited for")


def too_slow(server):
    """Whoever does not get on is cut off at the deadline; a byte now and then does not count as getting on."""
    cases = {
        "a head of HTTP": (server.http, b"GET /k HTTP/1.1\r\nHost: h\r\nX: "),
        "a value of HTTP": (server.http, b"PUT /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"),
        "a chunk": (server.http, b"PUT /slow HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n"),
        "a line of memcache": (server.port, b"get "),
        "a value of memcache": (server.port, b"set slow 0 0 1000\r\n"),
    }
    with ThreadPoolExecutor(2 * len(cases)) as pool:
        waits = [pool.submit(is_cut_off, what, port, begin, drip) for what, (port, begin) in cases.items()
                 for drip in (False, True)]
        for wait in waits:
            wait.result()
    check(fetch(server, b"/slow") is None, "half a value was stored")


def unread(server):
    """Answers that nobody reads: they wait in the store, and are not copied for each."""
    store(server, b"/large", value_of(1))
    before = resident_kib(server)
    connections = []
    for port, request in ((server.http, get(b"/large") * 2000), (server.port, b"get /large\r\n" * 2000)):
        for _ in range(4):
            connection = Connection(port)
            connection.socket.setblocking(False)
            try:
                connection.socket.send(request)
            except BlockingIOError:
                pass
            connections.append(connection)
    check(fetch(server, b"/large") == value_of(1), "the others get it")
    grown = resident_kib(server) - before
    check(grown < 16 << 10, "it has grown by", grown, "KiB")
    for connection in connections:
        connection.close()


def hoarders(server):
    """Who asks for everything there is and reads next to nothing of it takes no room from those who store."""
    fill(server, 400)
    keys = b" ".join(b"/fill%d" % i for i in range(400))
    connections = []
    for _ in range(8):
        connection = Connection(server.port)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(b"get %s\r\n" % keys)
        check(connection.read_until(b"\r\n").startswith(b"VALUE /fill"), "nothing came")
        connections.append(connection)
    for i in range(100):
        store(server, b"/fresh%d" % i, value_of(i))
        for connection in connections:
            connection.send(b"get /fresh%d\r\n" % i)
    for connection in connections:
        connection.close()


def send_all(connection, request):
    try:
        connection.send(request)
    except OSError:  # who reads the answers will say what is wrong
        pass


def pipelined(server):
    """10 000 requests at once, and no answer is read before all the others have been served."""
    count, value = 10000, value_of(4, 4096)
    store(server, b"/small", value)
    before = resident_kib(server)
    kept = []
    for port, request in ((server.http, get(b"/small")), (server.port, b"get /small\r\n")):
        connection = Connection(port)
        sender = threading.Thread(target=send_all, args=(connection, request * count))
        sender.start()
        kept.append((connection, sender))
    for _ in range(200):
        check(fetch(server, b"/small") == value, "the others get it")
        grown = resident_kib(server) - before
        check(grown < 8 << 10, "it has grown by", grown, "KiB")
    (http, _), (memcache, _) = kept
    for i in range(count):
        check(Answer(http).body == value, "HTTP's answer", i)
        check_equal(memcache.read_until(b"END\r\n"), b"VALUE /small 0 4096\r\n" + value + b"\r\nEND\r\n", i)
    for connection, sender in kept:
        sender.join()
        connection.close()


def put_typed(server, path, content_type):
    with Connection(server.http) as connection:
        connection.send(sized(b"x", b"Content-Type: %s\r\n" % content_type, path))
        return Answer(connection).status


def type_of(server, path):
    with Connection(server.http) as connection:
        connection.send(get(path))
        return Answer(connection).fields.get(b"content-type")


def junk_types(server):
    """A type that no object has any more takes no place; as long as all are in use the next one is refused."""
    for i in range(1000):
        check_equal(put_typed(server, b"/junk", b"junk/%d" % i), 201 if i == 0 else 204, "one more type")
    check_equal(type_of(server, b"/junk"), b"junk/999", "its type")
    server_delete(server, b"/junk")
    for i in range(TYPES_MOST):
        # What is gone is freed when all workers have come by.
        eventually(lambda: put_typed(server, b"/t%d" % i, b"kept/%d" % i) in (201, 204), b"type %d" % i)
    check_equal(put_typed(server, b"/more", b"one/more"), 507, "one type too many")
    check_equal(put_typed(server, b"/more", b"kept/3"), 201, "one that is there")
    check_equal(put_typed(server, b"/more", b"application/octet-stream"), 204, "what needs no place")
    server_delete(server, b"/t7")
    eventually(lambda: put_typed(server, b"/more", b"one/more") == 204, "that there is room again")
    check_equal((type_of(server, b"/more"), type_of(server, b"/t254")), (b"one/more", b"kept/254"), "their types")
    flush(server)


def read_slowly(connection, count):
    got = b""
    while len(got) < count:
        more = connection.socket.recv(min(8192, count - len(got)))
        check(more, "it ended after", len(got), "of", count, "bytes")
        got += more
        time.sleep(0.001)
    return got


def old_values(server):
    """Whoever has begun to read a value reads it to its end, whatever becomes of its key."""
    fates = {
        "overwritten": lambda: [store(server, b"/old", value_of(i)) for i in range(3, 40)],
        "deleted": lambda: server_delete(server, b"/old"),
        "evicted": lambda: fill(server, 1000),
        "flushed": lambda: flush(server),
    }
    for fate, bring_about in fates.items():
        store(server, b"/old", value_of(2))
        readers = []
        for port, request, skipped in ((server.http, get(b"/old"), None),
                                       (server.port, b"get /old\r\n", b"VALUE /old 0 %d\r\n" % LARGE)):
            connection = Connection(port)
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.send(request)
            head = connection.read_until(skipped or b"\r\n\r\n")
            check(head, "no answer")
            readers.append(connection)
        bring_about()
        for connection in readers:
            rest = LARGE - len(connection.got)
            got = connection.got + read_slowly(connection, rest) if rest > 0 else connection.got[:LARGE]
            check(got == value_of(2), fate, "while it was read: something else came")
            connection.close()
        check(fetch(server, b"/old") != value_of(2), "it is still there,", fate)


def fill(server, count):
    """Far more than there is room for, all of it read: what was read only once does not stay."""
    value = value_of(0)
    with Connection(server.port) as memcache:
        for i in range(count):
            memcache.send(b"set /fill%d 0 0 %d noreply\r\n%s\r\n" % (i, len(value), value))
            for _ in range(3):
                check_equal(memcache.ask(b"mg /fill%d\r\n" % i), b"HD\r\n", "what was just stored")


def server_delete(server, key):
    with Connection(server.port) as memcache:
        check_equal(memcache.ask(b"delete %s\r\n" % key), b"DELETED\r\n", "delete")


def flush(server):
    with Connection(server.port) as memcache:
        check_equal(memcache.ask(b"flush_all\r\n"), b"OK\r\n", "flush_all")


def resets(server):
    """RST in the middle of an answer, and of a value."""
    store(server, b"/large", value_of(1))
    for port, request in ((server.http, get(b"/large") * 20), (server.port, b"get /large\r\n" * 20),
                          (server.http, sized(b"", path=b"/r")[:-2] + b"Content-Length: 100000\r\n\r\nabc"),
                          (server.port, b"set /r 0 0 100000\r\nabc")):
        for _ in range(50):
            connection = Connection(port)
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            try:
                connection.send(request)
                connection.socket.setblocking(False)
                connection.socket.recv(1000)
            except (BlockingIOError, ConnectionResetError, BrokenPipeError):
                pass
            connection.close()
    check(fetch(server, b"/r") is None, "half a value was stored")


def half_closed(server):
    """Who has said all still hears all."""
    store(server, b"/large", value_of(1))
    for port, request, end in ((server.http, get(b"/large") * 5, None), (server.port, b"get /large\r\n" * 5, b"END\r\n")):
        with Connection(port) as connection:
            connection.send(request)
            connection.socket.shutdown(socket.SHUT_WR)
            if end is None:
                for _ in range(5):
                    check(Answer(connection).body == value_of(1), "an answer is not whole")
            else:
                for _ in range(5):
                    answer = connection.read_until(end)
                    check(value_of(1) in answer, "an answer is not whole")
            check_equal(connection.read_all(), b"", "behind the last answer")


def one_too_many(server, most):
    """Those that are there go on, and the next one is told why not."""
    kept = []
    end = time.monotonic() + PATIENCE_S
    # Those of before may not all be gone yet, and then one is turned away too early.
    while len(kept) < most:
        check(time.monotonic() < end, len(kept), "of", most, "are served")
        connection = Connection(server.http if len(kept) % 2 else server.port)
        if is_answered(connection, server):
            kept.append(connection)
        else:
            connection.close()
            time.sleep(0.01)
    with Connection(server.port) as memcache:
        check_equal(memcache.read_all(), b"ERROR Too many open connections\r\n", "memcache")
    with Connection(server.http) as http:
        check(http.read_all().startswith(b"HTTP/1.1 503 "), "HTTP")
    watchers = [watch(server) for _ in range(ADMIN_MOST)]
    with Connection(server.admin) as admin:
        check(admin.read_all().startswith(b"HTTP/1.1 503 "), "one too many who watch")
    for connection in kept:
        check(is_answered(connection, server), "one that was there is not served any more")
    for watcher in watchers:
        watcher.close()
    for connection in kept:
        connection.close()
    eventually(lambda: fetch_or_none(server) == b"here", "that there is room again")


def watch(server):
    """A connection to the admin port, which has its own limit."""
    end = time.monotonic() + PATIENCE_S
    while True:
        connection = Connection(server.admin)
        try:
            connection.send(get(b"/healthz"))
            answer = Answer(connection)
            if answer.status == 200:
                check_equal(answer.body, b"ok\n", "/healthz")
                return connection
        except (BrokenPipeError, ConnectionResetError):
            pass
        connection.close()
        # Those of before may not all be gone yet.
        check(time.monotonic() < end, "/healthz is not served")


def is_answered(connection, server):
    try:
        if connection.socket.getpeername()[1] == server.http:
            connection.send(get(b"/others"))
            return Answer(connection).status == 200
        return connection.ask(b"get /others\r\n", b"END\r\n").startswith(b"VALUE")
    except (BrokenPipeError, ConnectionResetError):
        return False


def fetch_or_none(server):
    try:
        return fetch(server, b"/others")
    except (BrokenPipeError, ConnectionResetError):
        return None


def come_and_go(server):
    """Memory and descriptors of thousands of connections are used again."""
    def burst(count):
        for i in range(count):
            with Connection(server.http if i % 2 else server.port) as connection:
                if i % 3 == 0:
                    check(is_answered(connection, server), "connection", i)

    burst(500)
    before = resident_kib(server)
    burst(2000)
    check(resident_kib(server) - before < 4096, "it has grown by", resident_kib(server) - before, "KiB")


def announced(_):
    """More values are announced than there is memory for, and do not come: others store, and nothing goes for it."""
    with HttpNumastore("-c", "1000", cores=2) as server:
        store(server, b"/others", b"here")
        peers = []
        for i in range(400):
            connection = Connection(server.http if i % 2 else server.port)
            connection.send(sized(b"", path=b"/r")[:-2].replace(b"Length: 0", b"Length: %d" % LARGE) + b"\r\nx"
                            if i % 2 else b"set r 0 0 %d\r\nx" % LARGE)
            peers.append(connection)
            if i % 40 == 39:
                store(server, b"/large", value_of(i))
                check(fetch(server, b"/large") == value_of(i), "another value")
        check_equal(fetch(server, b"/others"), b"here", "what was there before")
        # The first two had to go: they are told so when they have sent all, and stay in step.
        peers[0].send(b"y" * (LARGE - 1) + b"\r\n")
        check_equal(peers[0].read_until(b"\r\n"), b"SERVER_ERROR out of memory storing object\r\n", "memcache")
        check(is_answered(peers[0], server), "memcache goes on")
        peers[1].send(b"y" * (LARGE - 1))
        check_equal(Answer(peers[1]).status, 503, "HTTP")
        check(is_answered(peers[1], server), "HTTP goes on")
        # And the last ones need not.
        peers[-2].send(b"y" * (LARGE - 1) + b"\r\n")
        check_equal(peers[-2].read_until(b"\r\n"), b"STORED\r\n", "memcache")
        peers[-1].send(b"y" * (LARGE - 1))
        check_equal(Answer(peers[-1]).status, 201, "HTTP")
        for connection in peers:
            connection.close()


def silent(_):
    """Who says nothing is sent away when idle_timeout is set."""
    with HttpNumastore("-o", "idle_timeout=1") as server:
        for port in (server.http, server.port):
            with Connection(port) as connection:
                check_equal(connection.read_all(), b"", "one who was silent")


def appended(_):
    """Values that are to be appended wait for their end in memory: all of them together have a limit."""
    large = 30 << 20
    with HttpNumastore("-I", "32M", "--ram-head", "32M", memory="96M") as server:
        store(server, b"k", b"v")
        before = resident_kib(server)
        waiting = []
        for _ in range(2):
            connection = Connection(server.port)
            connection.send(b"append k 0 0 %d\r\n" % large)
            for _ in range(large // (1 << 20)):
                connection.send(bytes(1 << 20))
            waiting.append(connection)
        eventually(lambda: resident_kib(server) - before > 2 * large * 0.9 // 1024, "that they wait")
        for _ in range(3):
            with Connection(server.port) as refused:
                check_equal(refused.ask(b"append k 0 0 %d\r\n" % large), b"SERVER_ERROR out of memory storing object\r\n",
                            "one more")
        for connection in waiting:
            connection.close()
        # What they had is free again.
        eventually(lambda: is_appended(server), "that there is memory again")


def is_appended(server):
    with Connection(server.port) as connection:
        value = bytes(20 << 20)
        return connection.ask(b"append k 0 0 %d\r\n%s\r\n" % (len(value), value)) == b"STORED\r\n"


def run():
    # A sanitizer keeps what was freed for a while, which is not what is measured here.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    with HttpNumastore("--deadline", str(DEADLINE_S), "-I", str(1 << 20), "-c", "200", "--admin-port", "-1",
                       cores=2) as server:
        server.admin = server.port_of("admin")
        with Others(server) as others:
            for part in (too_slow, unread, hoarders, old_values, junk_types, resets, half_closed, come_and_go):
                # What an earlier part took away.
                store(server, b"/others", b"here")
                part(server)
                print(f"{part.__name__}: as it should be; the others were served {others.count} times, "
                      f"the slowest in {1000 * others.slowest_s:.0f} ms", flush=True)
                check(others.failure is None, others.failure)
        store(server, b"/others", b"here")
        one_too_many(server, 200)
    # Who has still to read is not cut off there.
    with HttpNumastore(cores=2) as server, Others(server):
        pipelined(server)
    announced(None)
    silent(None)
    appended(None)


if __name__ == "__main__":
    sys.exit(main_of(run))
