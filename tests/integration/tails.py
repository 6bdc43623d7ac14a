#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Objects that are longer than their head: numastore with a pool, over real sockets.

    tails.py NUMASTORE CASE [CC]

Values tell what they are: the first bytes say key, version and size, the rest follows from these, so that any byte of
any range can be checked. Exit status: 0 all is as it should be, 77 it cannot be tried here, 1 else.
"""

import http.client
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HEAD = 64 << 10  # of the server under test
UNIT = 64 << 10
CHUNK = 256 << 10
SIZES = sorted(
    {
        max(0, size + by)
        for size in (16, HEAD, HEAD + UNIT, HEAD + CHUNK, HEAD + 2 * CHUNK, 2 * CHUNK, 3 << 20)
        for by in (-1, 0, 1)
    }
)
PATIENCE_S = 60  # a busy machine, a sanitizer

WRITE_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Writes to regular files fail as long as the file $FAIL_WRITES is there. */
static int fails(int fd)
{
	struct stat about;

	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return 0;
	if (access(getenv("FAIL_WRITES"), F_OK) < 0)
		return 0;
	errno = EIO;
	return 1;
}

#define SHIM(name, ...)                                                       \
	{                                                                     \
		ssize_t (*next)() = (ssize_t (*)())dlsym(RTLD_NEXT, #name);   \
		return fails(fd) ? -1 : next(__VA_ARGS__);                    \
	}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) SHIM(pwrite, fd, bytes, count, at)
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) SHIM(pwrite64, fd, bytes, count, at)
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) SHIM(pwritev, fd, parts, count, at)
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at) SHIM(pwritev64, fd, parts, count, at)
"""


class Skipped(Exception):
    pass


def check(is_so, *what):
    if not is_so:
        raise AssertionError(" ".join(str(word) for word in what))


def value(key, version, size):
    """The bytes of that object."""
    about = struct.pack(">IIQ", key, version, size)
    rest = random.Random(int.from_bytes(about, "big")).randbytes(max(0, size - len(about)))
    return (about + rest)[:size]


def version_of(bytes_):
    """Of a value that begins with it; checks all of it."""
    key, version, size = struct.unpack(">IIQ", bytes_[:16])
    check(bytes_ == value(key, version, size), "wrong bytes in key", key, "version", version)
    return key, version


class Server:
    """numastore on free ports, with a pool; ended with the block."""

    def __init__(self, pools, *options, environment=None):
        command = [NUMASTORE, "-p", "-1", "--http-port", "-1", "--admin-port", "-1", "--memory", "64M"]
        command += ["--ram-head", str(HEAD), "--cores", "2"]
        if os.getuid() == 0:
            command += ["-u", "root"]  # who may look into the test's directory
        for pool in pools:
            command += ["--ssd-dir", pool]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command + list(options),
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.ports = {}
        try:
            while len(self.ports) < 3:
                line = self.process.stdout.readline()
                check(line, "numastore ended:", self.said())
                found = re.match(r"(\w+) listens on \S+:(\d+)$", line)
                if found:
                    self.ports[found[1].lower()] = int(found[2])
        except BaseException:
            self.process.kill()
            raise

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE_S)
        if kind is None:
            check(status in (0, -signal.SIGKILL), "numastore ended with", status, self.said())
        self.process.stdout.close()
        self.log.close()

    def memcache(self):
        return Memcache(self.ports["memcache"])

    def http(self):
        return Http(self.ports["http"])

    def metrics(self):
        """The samples of /metrics, by name and labels."""
        with Http(self.ports["admin"]) as admin:
            status, _, text = admin.ask("GET", "/metrics")
        check(status == 200, "/metrics:", status)
        lines = (line.rpartition(" ") for line in text.decode().splitlines() if not line.startswith("#"))
        return {name: float(number) for name, _, number in lines}


class Memcache:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def command(self, line):
        self.socket.sendall(line + b"\r\n")
        return self.file.readline().rstrip(b"\r\n")

    def set(self, key, bytes_, verb=b"set"):
        self.socket.sendall(b"%s %s 5 0 %d\r\n" % (verb, key, len(bytes_)) + bytes_ + b"\r\n")
        return self.file.readline().rstrip(b"\r\n")

    def values(self, line):
        """Those of a get, by key."""
        self.socket.sendall(line + b"\r\n")
        found = {}
        while True:
            words = self.file.readline().split()
            if words == [b"END"]:
                return found
            check(words and words[0] == b"VALUE", "an answer of", words)
            size = int(words[3])
            bytes_ = self.file.read(size + 2)
            check(len(bytes_) == size + 2, "the connection ended in a value")
            found[words[1]] = bytes_[:-2]

    def get(self, key):
        return self.values(b"get " + key).get(key)

    def stats(self, kind=b""):
        self.socket.sendall(b"stats " + kind + b"\r\n")
        found = {}
        while True:
            line = self.file.readline().decode().rstrip("\r\n")
            if line == "END":
                return found
            _, name, text = line.split(" ", 2)
            found[name] = text


class Http:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def ask(self, method, path, body=None, headers=None, chunked=False):
        self.connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def put(self, path, bytes_):
        return self.ask("PUT", path, bytes_)[0]

    def put_chunked(self, path, bytes_, step):
        pieces = (bytes_[at : at + step] for at in range(0, len(bytes_), step))
        return self.ask("PUT", path, pieces, {"Transfer-Encoding": "chunked"}, True)[0]

    def get(self, path, first=None, last=None):
        headers = {} if first is None else {"Range": f"bytes={first}-{'' if last is None else last}"}
        status, _, bytes_ = self.ask("GET", path, headers=headers)
        return status, bytes_


def make_pool(directory, name="pool"):
    path = os.path.join(directory, name)
    subprocess.run([NUMASTORE, "--prepare-pool", path], check=True, stdout=subprocess.DEVNULL)
    return path


def data_file(pool):
    """The one with the tails."""
    files = [os.path.join(pool, name) for name in os.listdir(pool)]
    return max((path for path in files if os.path.isfile(path)), key=os.path.getsize)


def refused(*arguments):
    """What numastore says as it refuses to start."""
    ended = subprocess.run(
        [NUMASTORE, "-p", "-1", "--http-port", "0", "--memory", "16M", *arguments],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )
    check(ended.returncode == 1, "it ended with", ended.returncode, ended.stdout, ended.stderr)
    check(ended.stderr.count("\n") == 1, "more than a line:", ended.stderr)
    return ended.stderr


def eventually(is_so, *what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        check(time.monotonic() < end, "it never came to be:", *what)
        time.sleep(0.01)


def read_ranges(web, key, bytes_, count):
    borders = [at for at in (0, HEAD, HEAD + UNIT, HEAD + CHUNK, len(bytes_)) if at <= len(bytes_)]
    for _ in range(count):
        first, last = sorted(
            min(max(0, random.choice(borders) + random.randint(-3, 3)), len(bytes_) - 1)
            if random.random() < 0.5 else random.randrange(len(bytes_))
            for _ in range(2)
        )
        status, part = web.get(key, first, last)
        check(status == 206 and part == bytes_[first : last + 1], key, first, last, "status", status)


def try_sizes(directory, engine):
    """Objects of all sizes by all ways in, read by all ways out."""
    with Server([make_pool(directory), make_pool(directory, "other")], "--io", engine) as server:
        with server.memcache() as cache, server.http() as web:
            for number, size in enumerate(SIZES):
                expected = value(number, 1, size)
                ways = {
                    "memcache": lambda b=expected: cache.set(b"/object", b) == b"STORED",
                    "http": lambda b=expected: web.put("/object", b) in (201, 204),
                    "chunks": lambda b=expected: web.put_chunked("/object", b, 30011) in (201, 204),
                    "ms": lambda b=expected: store_meta(cache, b) == b"HD",
                }
                for way, store in ways.items():
                    check(store(), "not stored by", way, "size", size)
                    check(cache.get(b"/object") == expected, "memcache gives other bytes", way, size)
                    check(web.get("/object") == (200, expected), "HTTP gives other bytes", way, size)
                    if size > 0:
                        read_ranges(web, "/object", expected, 6)
                status, fields, none = web.ask("HEAD", "/object")
                check((status, none) == (200, b"") and int(fields["Content-Length"]) == size, "HEAD")
            try_small_changes(cache)
            try_pipelined(cache)
            stats = cache.stats(b"pools")
            check(stats["pools"] == "2" and int(stats["pool:0:writes"]) > 0, stats)
            check(engine in ("auto", stats["engine"]), stats)
            cache.command(b"flush_all")
            eventually(lambda: server.metrics()['numastore_pool_used_bytes{pool="0"}'] == 0
                       and server.metrics()['numastore_pool_used_bytes{pool="1"}'] == 0, "empty pools")


def store_meta(cache, bytes_):
    cache.socket.sendall(b"ms /object %d\r\n" % len(bytes_) + bytes_ + b"\r\n")
    return cache.file.readline().rstrip()


def try_small_changes(cache):
    long = value(7, 1, HEAD + 1)
    check(cache.set(b"long", long) == b"STORED", "not stored")
    too_long = b"SERVER_ERROR object too large for cache"
    check(cache.set(b"long", b"x", b"append") == too_long, "append to a tail")
    check(cache.set(b"long", b"x", b"prepend") == too_long, "prepend to a tail")
    check(cache.command(b"incr long 1") == b"CLIENT_ERROR cannot increment or decrement non-numeric value", "incr")
    check(cache.set(b"head", long[:HEAD]) == b"STORED", "not stored")
    check(cache.set(b"head", b"x", b"append") == too_long, "append beyond a head")
    check(cache.get(b"long") == long and cache.get(b"head") == long[:HEAD], "refused, and changed all the same")
    check(cache.command(b"touch long 0") == b"TOUCHED" and cache.get(b"long") == long, "touch")


def try_pipelined(cache):
    """Large and small ones in one go, in both directions."""
    sizes = [10, 3 * CHUNK, HEAD, HEAD + 1, 5, CHUNK, 2 * CHUNK, 0] * 3
    values_ = [value(100 + i, 1, size) for i, size in enumerate(sizes)]
    stream = b"".join(
        b"set p%d 0 0 %d\r\n%s\r\nget p%d\r\n" % (i, len(v), v, i) for i, v in enumerate(values_)
    )
    sender = threading.Thread(target=cache.socket.sendall, args=(stream,))
    sender.start()
    for i, expected in enumerate(values_):
        check(cache.file.readline() == b"STORED\r\n", "pipelined set", i)
        check(cache.file.readline() == b"VALUE p%d 0 %d\r\n" % (i, len(expected)), "pipelined get", i)
        check(cache.file.read(len(expected) + 7) == expected + b"\r\nEND\r\n", "pipelined value", i)
    sender.join()
    keys = b" ".join(b"p%d" % i for i in range(len(values_)))
    found = cache.values(b"get " + keys)
    check(found == {b"p%d" % i: v for i, v in enumerate(values_)}, "get of many")


def try_concurrent(directory):
    """Writers and readers of the same keys, in more than the pools hold of buffers."""
    stop = threading.Event()
    failures = []
    sizes = [100, HEAD + 1, CHUNK, HEAD + CHUNK + 1, 1 << 20]

    def work(number):
        dice = random.Random(number)
        with server.memcache() as cache, server.http() as web:
            for turn in range(60):
                key = dice.randrange(12)
                if stop.is_set():
                    return
                if dice.random() < 0.4:
                    new = value(key, number << 16 | turn, dice.choice(sizes))
                    if dice.random() < 0.5:
                        check(cache.set(b"/k%d" % key, new) == b"STORED", "not stored")
                    else:
                        check(web.put(f"/k{key}", new) in (201, 204), "not stored by HTTP")
                    continue
                if dice.random() < 0.5:
                    found = cache.get(b"/k%d" % key)
                else:
                    status, found = web.get(f"/k{key}")
                    found = found if status == 200 else None
                if found is not None:
                    check(version_of(found)[0] == key, "another key's value")

    def run(number):
        try:
            work(number)
        except BaseException as error:
            failures.append((number, repr(error)))
            stop.set()

    with Server([make_pool(directory)]) as server:
        workers = [threading.Thread(target=run, args=(number,)) for number in range(12)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        check(not failures, failures)
        metrics = server.metrics()
        check(metrics["numastore_tails_lost_total"] == 0, "tails were lost")
        check(metrics['numastore_pool_damaged_total{pool="0"}'] == 0, "units were damaged")


def try_killed(directory):
    """kill -9 in the middle of a value; the next one starts clean on the same pool."""
    pool = make_pool(directory)
    for _ in range(3):
        with Server([pool]) as server:
            with server.memcache() as cache:
                check(cache.get(b"old") is None, "something is left of the last time")
                check(server.metrics()['numastore_pool_used_bytes{pool="0"}'] == 0, "the pool was not wiped")
                for number in range(8):
                    check(cache.set(b"old" if number == 0 else b"k%d" % number, value(number, 1, 1 << 20)) == b"STORED")
                check(pool in refused("--ssd-dir", pool), "two servers have the same pool")
                cache.socket.sendall(b"set half 0 0 3000000\r\n" + b"x" * 1500000)
                server.process.kill()
                server.process.wait(PATIENCE_S)


def try_refused(directory):
    """Directories that are no pools are not touched."""
    plain = os.path.join(directory, "plain")
    os.mkdir(plain)
    precious = os.path.join(plain, "precious")
    with open(precious, "w", encoding="ascii") as file:
        file.write("do not wipe")
    check("plain" in refused("--ssd-dir", plain), "the directory is not named")
    ended = subprocess.run([NUMASTORE, "--prepare-pool", plain], capture_output=True, text=True)
    check(ended.returncode == 1 and "precious" in ended.stderr, "prepared a directory with files in it", ended)
    check(os.listdir(plain) == ["precious"], "something was added")
    with open(precious, encoding="ascii") as file:
        check(file.read() == "do not wipe", "it was wiped")
    check("absent" in refused("--ssd-dir", os.path.join(directory, "absent")), "the directory is not named")
    refused("--ssd-dir", precious)
    pool = make_pool(directory)
    with Server([pool]):
        check(pool in refused("--ssd-dir", pool), "two servers have the same pool")


class SmallDisk:
    """A tmpfs of that size, for the block."""

    def __init__(self, directory, size):
        self.path = os.path.join(directory, "disk")
        os.mkdir(self.path)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.path], capture_output=True, text=True
        )
        if mounted.returncode != 0:
            raise Skipped("no tmpfs can be mounted: " + mounted.stderr.strip())

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)


def put_head(server, size):
    """The status of a PUT of so many bytes, of which none is sent before it is refused."""
    with socket.create_connection(("127.0.0.1", server.ports["http"]), timeout=PATIENCE_S) as peer:
        peer.sendall(b"PUT /huge HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        return peer.makefile("rb").readline().split()[1]


def try_full(directory):
    """A pool on a disk that is full: others go; with -M, and for what never fits, it is refused."""
    with SmallDisk(directory, 24 << 20) as disk:
        pool = make_pool(disk)
        with Server([pool]) as server, server.memcache() as cache:
            for number in range(60):
                check(cache.set(b"k%d" % number, value(number, 1, 1 << 20)) == b"STORED", "not stored", number)
            left = [n for n in range(60) if cache.get(b"k%d" % n) not in (None, b"")]
            check(5 <= len(left) < 30 and 59 in left, "these are left:", left)
            for number in left:
                check(cache.get(b"k%d" % number) == value(number, 1, 1 << 20), "other bytes")
            check(int(cache.stats()["tail_evictions"]) >= 30, cache.stats())
            no_room = b"SERVER_ERROR out of memory storing object"
            check(cache.set(b"huge", bytes(64 << 20)) == no_room, "more than the disk has")
            check(cache.get(b"k59") == value(59, 1, 1 << 20), "others went for what never fits")
            check(put_head(server, 64 << 20) == b"507", "more than the disk has, by HTTP")
            check(cache.set(b"small", b"x") == b"STORED", "the connection is out of step")
            check(int(cache.stats()["storage_full"]) >= 2, cache.stats())
        with Server([pool], "-M") as server, server.memcache() as cache:
            answers = [cache.set(b"k%d" % n, value(n, 1, 1 << 20)) for n in range(40)]
            stored = answers.count(b"STORED")
            check(5 <= stored < 30 and answers == [b"STORED"] * stored + [no_room] * (40 - stored), answers)
            check(put_head(server, 2 << 20) == b"507", "HTTP")
            for number in range(stored):
                check(cache.get(b"k%d" % number) == value(number, 1, 1 << 20), "other bytes")
            check(cache.command(b"delete k0") == b"DELETED", "delete")
            check(cache.set(b"again", value(1, 2, 1 << 20)) == b"STORED", "room is not given back")


def try_damaged(directory):
    """Bytes that change or vanish on disk: the object goes, the answer ends early, others stay."""
    pool = make_pool(directory)
    with Server([pool]) as server, server.memcache() as cache:
        for number in range(4):
            check(cache.set(b"/k%d" % number, value(number, 1, 1 << 20)) == b"STORED", "not stored")
        check(cache.set(b"small", b"in RAM") == b"STORED", "not stored")
        path = data_file(pool)
        with open(path, "r+b") as file:
            for at in range(0, os.path.getsize(path), UNIT):
                file.seek(at + random.randrange(1000))
                file.write(b"damage")
        read_lost(server, range(2))
        os.truncate(path, 0)
        read_lost(server, range(2, 4))
        check(cache.get(b"small") == b"in RAM", "what is in RAM went too")
        check(cache.set(b"/k0", b"new") == b"STORED" and cache.get(b"/k0") == b"new", "the key cannot be set")
        stats = cache.stats()
        check(stats["tails_lost"] == "4" and stats["curr_items"] == "2", stats)
        pools = cache.stats(b"pools")
        check(pools["last_loss"] == "EIO" and int(pools["pool:0:damaged"]) >= 1, pools)


def read_lost(server, numbers):
    """Each is asked for once and ends early; then it is gone."""
    for number in numbers:
        expected = value(number, 1, 1 << 20)
        with socket.create_connection(("127.0.0.1", server.ports["http"]), timeout=PATIENCE_S) as peer:
            peer.sendall(b"GET /k%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
            answer = b"".join(iter(lambda: peer.recv(1 << 16), b""))
        body = answer.partition(b"\r\n\r\n")[2]
        check(len(body) < len(expected) and expected.startswith(body), "wrong bytes of a damaged object")
        with server.memcache() as cache:
            check(cache.get(b"/k%d" % number) is None, "it is still there")


def try_write_error(directory):
    """EIO of every write: refused with a reason, in step, no old value; then it goes on."""
    shim = os.path.join(directory, "shim.so")
    source = os.path.join(directory, "shim.c")
    flag = os.path.join(directory, "fail")
    with open(source, "w", encoding="ascii") as file:
        file.write(WRITE_SHIM)
    if subprocess.run([CC, "-w", "-shared", "-fPIC", "-o", shim, source, "-ldl"], capture_output=True).returncode != 0:
        raise Skipped(f"{CC} does not make a shared library")
    environment = {
        "LD_PRELOAD": shim,
        "FAIL_WRITES": flag,
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
    }
    with Server([make_pool(directory)], "--io", "threads", environment=environment) as server:
        with server.memcache() as cache, server.http() as web:
            check(cache.set(b"key", value(1, 1, 1 << 20)) == b"STORED", "not stored")
            check(web.put("/web", value(2, 1, 1 << 20)) == 201, "not stored")
            open(flag, "w", encoding="ascii").close()
            failed = b"SERVER_ERROR storage failed"
            answer = cache.set(b"key", value(1, 2, 1 << 20))
            check(answer == failed, "memcache:", answer)
            check(cache.get(b"key") is None, "the old value is still there")
            status, _, words = web.ask("PUT", "/web", value(2, 2, 1 << 20))
            check(status == 500 and words.count(b"\n") == 1, status, words)
            check(web.put_chunked("/web", value(2, 2, 1 << 20), 9999) == 500, "chunks")
            check(web.get("/web") == (200, value(2, 1, 1 << 20)), "HTTP's old value is another")
            check(cache.set(b"small", b"x") == b"STORED" and cache.get(b"small") == b"x", "out of step")
            check(int(cache.stats()["storage_failed"]) >= 3, cache.stats())
            check(int(cache.stats(b"pools")["pool:0:errors"]) >= 3, cache.stats(b"pools"))
            os.unlink(flag)
            # Unless it is retired by now, it is used again.
            if cache.stats(b"pools")["pool:0:retired"] == "0":
                check(cache.set(b"key", value(1, 3, 1 << 20)) == b"STORED", "never again")
                check(cache.get(b"key") == value(1, 3, 1 << 20), "other bytes")


def try_vanished(directory):
    """The directory goes while the server runs: it lives, and no byte is wrong."""
    pool = make_pool(directory)
    with Server([pool]) as server, server.memcache() as cache:
        check(cache.set(b"before", value(1, 1, 1 << 20)) == b"STORED", "not stored")
        shutil.rmtree(pool)
        for number in range(8):
            expected = value(2, number, 1 << 20)
            stored = cache.set(b"key", expected)
            check(stored == b"STORED" or stored.startswith(b"SERVER_ERROR"), stored)
            found = cache.get(b"key")
            check(found is None or found == expected, "other bytes")
            check(stored == b"STORED" or found is None, "refused, and there")
        found = cache.get(b"before")
        check(found is None or found == value(1, 1, 1 << 20), "other bytes")
        check(cache.set(b"small", b"x") == b"STORED" and cache.get(b"small") == b"x", "small ones")


def slow_reader(server):
    """Has asked for big, and reads nothing."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.settimeout(PATIENCE_S)
    peer.connect(("127.0.0.1", server.ports["memcache"]))
    peer.sendall(b"get big\r\n")
    return peer


def try_slow(directory):
    """More slow readers than there are buffers: the others are served, and each gets its old value whole."""
    size = 12 << 20  # more than sockets hold
    with Server([make_pool(directory)], "--cores", "1") as server, server.memcache() as cache:
        old = value(5, 1, size)
        check(cache.set(b"big", old) == b"STORED", "not stored")
        readers = [slow_reader(server) for _ in range(40)]
        check(cache.set(b"big", value(5, 2, size)) == b"STORED", "not overwritten")
        for number in range(20):
            check(cache.set(b"other", value(6, number, 1 << 20)) == b"STORED", "others wait")
            check(cache.get(b"other") == value(6, number, 1 << 20), "other bytes")
        slow = readers[0].makefile("rb")
        check(slow.readline() == b"VALUE big 5 %d\r\n" % size, "the slow one's answer")
        check(version_of(slow.read(size)) == (5, 1), "the slow one's old value")
        slow.close()
        for peer in readers:
            peer.close()
        check(version_of(cache.get(b"big")) == (5, 2), "the new value")
        check(cache.command(b"delete big") == b"DELETED", "delete")
        cache.command(b"flush_all")
        eventually(lambda: server.metrics()['numastore_pool_used_bytes{pool="0"}'] == 0, "an empty pool")
        # One that is still there when the server ends.
        check(cache.set(b"big", old) == b"STORED", "not stored")
        last = slow_reader(server)
    last.close()


def stalled_writer(server, number):
    """Has sent a head, and the beginning of a tail."""
    size = 1 << 20
    peer = socket.create_connection(("127.0.0.1", server.ports["memcache"]), timeout=PATIENCE_S)
    peer.sendall(b"set stalled%d 5 0 %d\r\n" % (number, size) + value(100 + number, 1, size)[: HEAD + 1000])
    return peer


def end_stalled(cache, number, peer):
    """It goes on after all; returns the answer."""
    whole = value(100 + number, 1, 1 << 20)
    peer.sendall(whole[HEAD + 1000 :] + b"\r\nversion\r\n")
    file = peer.makefile("rb")
    answer = file.readline()
    check(file.readline().startswith(b"VERSION "), "out of step")
    file.close()
    found = cache.get(b"stalled%d" % number)
    check(found == (whole if answer == b"STORED\r\n" else None), answer, "and something else is there")
    return answer


def try_stalled(directory):
    """More values that do not go on than there are buffers: others are served, and lose nothing."""
    size = 4 << 20
    options = ("--cores", "1", "--deadline", "600")
    with Server([make_pool(directory)], *options) as server, server.memcache() as cache:
        check(cache.set(b"big", value(5, 1, size)) == b"STORED", "not stored")
        peers = [stalled_writer(server, number) for number in range(100)]
        for number in range(5):
            check(cache.get(b"big") == value(5, 1, size), "who reads waits")
            check(cache.set(b"other", value(6, number, size)) == b"STORED", "who writes waits")
            check(cache.get(b"other") == value(6, number, size), "other bytes")
        answers = [end_stalled(cache, number, peer) for number, peer in enumerate(peers)]
        for peer in peers:
            peer.close()
        lost = answers.count(b"SERVER_ERROR out of memory storing object\r\n")
        check(lost > 0 and lost + answers.count(b"STORED\r\n") == len(answers), answers)
        check(int(cache.stats()["store_no_memory"]) == lost, "not counted")
        cache.command(b"flush_all")
        eventually(lambda: server.metrics()['numastore_pool_used_bytes{pool="0"}'] == 0, "an empty pool")


CASES = {
    "sizes_uring": lambda directory: try_sizes(directory, "uring"),
    "sizes_threads": lambda directory: try_sizes(directory, "threads"),
    "concurrent": try_concurrent,
    "killed": try_killed,
    "refused": try_refused,
    "full": try_full,
    "damaged": try_damaged,
    "write_error": try_write_error,
    "vanished": try_vanished,
    "slow": try_slow,
    "stalled": try_stalled,
}


def main():
    directory = tempfile.mkdtemp(prefix="tails.")
    try:
        CASES[sys.argv[2]](directory)
    except Skipped as reason:
        print("skipped:", reason)
        return 77
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


NUMASTORE = sys.argv[1]
CC = sys.argv[3] if len(sys.argv) > 3 else "cc"
random.seed(1)

if __name__ == "__main__":
    sys.exit(main())
