#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients that others wrote, against numastore.

    memcache_clients.py capable|tools|pymemcache

capable: memccapable's checks of the text protocol. tools: files stored, shown, touched and removed by those of
libmemcached. pymemcache: each of its calls. NUMASTORE names the program. Status: 0, 1 failed, 77 cannot run here.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from memcache_servers import PATIENCE_S, Numastore, Skipped, check, check_equal, main_of

CAPABLE_CHECKS = 27


def run(*command, status=0):
    """What it prints. memccat leaves a line end behind a value."""
    found = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    check(found.returncode == status, command, "ends with", found.returncode, found.stdout[-2000:], found.stderr[-2000:])
    return found.stdout


def tool(*names):
    """Debian has memccp where its authors have memcp."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Skipped(f"no {names[0]} here")


# ---- memccapable ----


def capable():
    program = tool("memccapable", "memcapable")
    with Numastore() as server:
        text = run(program, "-h", "127.0.0.1", "-p", str(server.port), "-a", "-t", str(PATIENCE_S)).decode()
        passed = re.findall(r"^ascii .*\[pass\]", text, re.MULTILINE)
        check_equal(len(passed), CAPABLE_CHECKS, f"checks that pass, of:\n{text}\n")
        check("All tests passed" in text, text)


# ---- libmemcached's tools ----


def tools():
    copy, show = tool("memccp", "memcp"), tool("memccat", "memcat")
    remove, stat = tool("memcrm", "memrm"), tool("memcstat", "memstat")
    exist, touch = tool("memcexist", "memexist"), tool("memctouch", "memtouch")
    ping, flush = tool("memcping", "memping"), tool("memcflush", "memflush")
    with tempfile.TemporaryDirectory() as directory, Numastore() as server:
        at = f"--servers=127.0.0.1:{server.port}"
        values = {"empty": b"", "text": b"line\nEND\r\nline\n", "bytes": bytes(range(256)) * 4, "large": os.urandom(200_000)}
        paths = []
        for name, value in values.items():
            paths.append(os.path.join(directory, name))
            with open(paths[-1], "wb") as file:
                file.write(value)
        run(ping, at)
        run(copy, at, "--set", *paths)
        for name, value in values.items():
            into = os.path.join(directory, "out")
            run(show, at, f"--file={into}", name)
            with open(into, "rb") as file:
                check_equal(file.read(), value, name)
        run(exist, at, "text")
        run(exist, at, "nothing", status=1)
        run(copy, at, "--add", paths[1], status=1)
        run(copy, at, "--replace", paths[1])
        run(touch, at, "--expire=1000", "text")
        run(remove, at, "text")
        run(remove, at, "text", status=1)
        run(exist, at, "text", status=1)
        text = run(stat, at).decode()
        for name in ("pid", "uptime", "time", "version", "curr_items", "bytes", "get_hits", "limit_maxbytes", "threads"):
            check(re.search(rf"^\s*{name}: \S", text, re.MULTILINE), name, "is not in", text)
        run(flush, at)
        run(exist, at, "bytes", status=1)


# ---- pymemcache ----


def store_and_fetch(client):
    check_equal(client.set(b"key", b"value", noreply=False), True, "set")
    check_equal(client.get(b"key"), b"value", "get")
    check_equal(client.get(b"other"), None, "get of nothing")
    check_equal(client.get(b"other", b"default"), b"default", "get of nothing")
    check_equal(client.set(b"key", b"\x00\r\n\xff" * 1000, flags=4294967295, noreply=False), True, "set of bytes")
    check_equal(client.get(b"key"), b"\x00\r\n\xff" * 1000, "get of bytes")
    check_equal(client.set(b"k" * 250, b"", noreply=False), True, "the longest key")
    check_equal(client.get(b"k" * 250), b"", "an empty value")
    check_equal(client.add(b"key", b"x", noreply=False), False, "add to what is there")
    check_equal(client.add(b"new", b"x", noreply=False), True, "add")
    check_equal(client.replace(b"new", b"y", noreply=False), True, "replace")
    check_equal(client.replace(b"none", b"y", noreply=False), False, "replace of nothing")
    check_equal(client.append(b"new", b"z", noreply=False), True, "append")
    check_equal(client.prepend(b"new", b"x", noreply=False), True, "prepend")
    check_equal(client.get(b"new"), b"xyz", "what was joined")
    check_equal(client.append(b"none", b"z", noreply=False), False, "append to nothing")
    check_equal(client.prepend(b"none", b"z", noreply=False), False, "prepend to nothing")


def compare_and_set(client):
    client.set(b"key", b"1", noreply=False)
    value, cas = client.gets(b"key")
    check_equal(value, b"1", "gets")
    check_equal(client.gets(b"none"), (None, None), "gets of nothing")
    check_equal(client.cas(b"key", b"2", cas), True, "cas")
    check_equal(client.cas(b"key", b"3", cas), False, "cas that is late")
    check_equal(client.cas(b"none", b"3", cas), None, "cas of nothing")
    check_equal(client.get(b"key"), b"2", "what cas left")


def many(client):
    values = {b"many%d" % i: b"value %d" % i for i in range(500)}
    check_equal(client.set_many(values, noreply=False), [], "set_many")
    check_equal(client.get_many([*values, b"none"]), values, "get_many")
    found = client.gets_many(list(values))
    check_equal({key: pair[0] for key, pair in found.items()}, values, "gets_many")
    check_equal(len({pair[1] for pair in found.values()}), len(values), "different numbers")
    check_equal(client.delete_many(list(values), noreply=False), True, "delete_many")
    check_equal(client.get_many(list(values)), {}, "get_many of nothing")


def count(client):
    client.set(b"number", b"10", noreply=False)
    check_equal(client.incr(b"number", 5), 15, "incr")
    check_equal(client.decr(b"number", 6), 9, "decr")
    check_equal(client.decr(b"number", 100), 0, "decr to the floor")
    check_equal(client.incr(b"none", 1), None, "incr of nothing")
    check_equal(client.decr(b"none", 1), None, "decr of nothing")
    client.set(b"number", b"18446744073709551615", noreply=False)
    check_equal(client.incr(b"number", 2), 1, "incr around")
    check_equal(client.incr(b"number", 1, noreply=True), None, "incr unanswered")
    check_equal(client.get(b"number").strip(), b"2", "number")


def end(client):
    client.set(b"key", b"value", expire=1000, noreply=False)
    check_equal(client.touch(b"key", 2000, noreply=False), True, "touch")
    check_equal(client.touch(b"none", 2000, noreply=False), False, "touch of nothing")
    check_equal(client.touch(b"key", -1, noreply=False), True, "touch to the end")
    check_equal(client.get(b"key"), None, "what was ended by touch")
    client.set(b"key", b"value", expire=-1, noreply=False)
    check_equal(client.get(b"key"), None, "what had ended before")
    client.set(b"key", b"value", noreply=False)
    check_equal(client.delete(b"key", noreply=False), True, "delete")
    check_equal(client.delete(b"key", noreply=False), False, "delete of nothing")
    client.set(b"key", b"value", expire=1, noreply=False)
    by = time.monotonic() + PATIENCE_S
    while client.get(b"key") is not None:
        check(time.monotonic() < by, "a value of one second does not end")
        time.sleep(0.05)
    client.set(b"key", b"value", noreply=False)
    check_equal(client.flush_all(delay=1000, noreply=False), True, "flush_all to come")
    check_equal(client.get(b"key"), b"value", "what is there until then")
    check_equal(client.flush_all(noreply=False), True, "flush_all")
    check_equal(client.get(b"key"), None, "what was flushed")


def unanswered(client):
    """The answer of the next call must not be that of one of these."""
    for i in range(100):
        client.set(b"quiet", b"%d" % i, noreply=True)
        client.add(b"quiet", b"no", noreply=True)
        client.append(b"quiet", b"+", noreply=True)
        client.touch(b"quiet", 0, noreply=True)
        client.delete(b"none", noreply=True)
        client.set_many({b"quiet2": b"x", b"quiet3": b"y"}, noreply=True)
        client.cas(b"quiet", b"late", 1, noreply=True)
        check_equal(client.get(b"quiet"), b"%d+" % i, "quiet")
    client.delete_many([b"quiet2", b"quiet3"], noreply=True)
    client.flush_all(noreply=True)
    check_equal(client.get_many([b"quiet", b"quiet2"]), {}, "what was flushed")


def about_the_server(client, pymemcache):
    stats = client.stats()
    check(stats[b"curr_items"] >= 0 and stats[b"threads"] == 1, stats)
    check(stats[b"version"] == client.version(), stats)
    settings = client.stats(b"settings")
    check(settings[b"cas_enabled"] == b"yes" and settings[b"maxconns"] == 1024, settings)
    for kind in (b"items", b"slabs", b"sizes", b"conns", b"placement"):
        client.stats(kind)
    check(client.version().startswith(b"1.6."), client.version())
    # Memory is had at the start, and stays; that much is said.
    try:
        client.cache_memlimit(64)
        check(False, "cache_memlimit is obeyed")
    except pymemcache.exceptions.MemcacheError:
        client.close()
    if hasattr(client, "raw_command"):
        check_equal(client.raw_command(b"mn"), b"MN", "mn")
        check_equal(client.raw_command(b"mg none v"), b"EN", "mg of nothing")
        check_equal(client.raw_command(b"ms meta 5 c0 T0\r\nvalue"), b"HD", "ms")
        check_equal(client.raw_command(b"md meta q\r\nmn"), b"MN", "md that is quiet")


def refused(client, pymemcache):
    try:
        client.set(b"large", b"x" * (256 * 1024 + 1), noreply=False)
        check(False, "more than the limit is stored")
    except pymemcache.exceptions.MemcacheServerError as error:
        check("too large" in str(error), error)
    check_equal(client.get(b"large"), None, "after it")
    client.set(b"text", b"no number", noreply=False)
    try:
        client.incr(b"text", 1)
        check(False, "a text is counted")
    except pymemcache.exceptions.MemcacheClientError as error:
        check("non-numeric" in str(error), error)
    check_equal(client.get(b"text"), b"no number", "after it")


def pymemcache_calls():
    try:
        import pymemcache
        import pymemcache.client.base
    except ImportError:
        raise Skipped("no pymemcache for this python") from None
    with Numastore() as server:
        client = pymemcache.client.base.Client(("127.0.0.1", server.port), timeout=PATIENCE_S)
        store_and_fetch(client)
        compare_and_set(client)
        many(client)
        count(client)
        end(client)
        unanswered(client)
        refused(client, pymemcache)
        about_the_server(client, pymemcache)
        client.quit()


CASES = {"capable": capable, "tools": tools, "pymemcache": pymemcache_calls}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(CASES)}")
    sys.exit(main_of(CASES[sys.argv[1]]))
