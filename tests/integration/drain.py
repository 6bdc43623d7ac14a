#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a peer sees of SIGTERM.

    drain.py

Answers that have begun come whole, also where the kernel holds their rest; requests that have begun are served; nobody
new is, at no address; and nothing waits longer than it must. NUMASTORE names the program. Status: 0, 1 failed, 77
cannot run here.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from http_refusals import Answer, HttpNumastore, get, sized
from memcache_servers import (PATIENCE_S, Connection, Numastore, Skipped, check, check_equal, eventually, main_of,
                              program_of)
from peers import resident_kib, store

LARGE = 256 << 10


def is_refused(family, address):
    with socket.socket(family) as probe:
        try:
            probe.connect(address)
            return False
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except ConnectionResetError:
            return False  # just when it was closed


def answer_in_the_kernel():
    """It lies in the socket's buffer, and the peer is about to say something more."""
    value = b"v" * LARGE
    with Numastore() as server:
        connection = Connection(server.port)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        store(server, b"k", value)
        connection.send(b"get k\r\n")
        connection.read_until(b"\r\n")
        os.kill(server.pid, signal.SIGTERM)
        eventually(lambda: is_refused(socket.AF_INET, ("127.0.0.1", server.port)), "that it listens no more")
        try:
            # What nobody reads any more would make a reset of the end, and that takes away what is on its way.
            connection.send(b"get k\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        got = connection.got
        while len(got) < len(value):
            more = connection.socket.recv(4096)
            check(more, "it ended after", len(got), "of", len(value), "bytes")
            got += more
        check(got.startswith(value), "other bytes came")
        connection.close()


def begun_requests():
    """A value that is coming is waited for and stored; its sender is told that this was all."""
    with HttpNumastore() as server:
        with Connection(server.http) as http, Connection(server.port) as memcache, Connection(server.http) as idle:
            http.send(sized(b"12345", path=b"/k")[:-2])
            memcache.send(b"set m 0 0 5\r\n123")
            idle.send(get(b"/none"))
            check_equal(Answer(idle).status, 404, "before")
            os.kill(server.pid, signal.SIGTERM)
            check_equal(idle.read_all(), b"", "one that is idle")
            http.send(b"45")
            answer = Answer(http)
            check_equal((answer.status, answer.fields.get(b"connection")), (201, b"close"), "the value that was coming")
            check_equal(http.read_all(), b"", "behind it")
            memcache.send(b"45\r\n")
            check_equal(memcache.read_all(), b"STORED\r\n", "the value that was coming over memcache")


def no_address_is_left():
    """A Unix socket that all workers share takes nobody either, while somebody is still served."""
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        with HttpNumastore("-s", path, "-u", "root") as server:
            check(not is_refused(socket.AF_UNIX, path), "it is listened on before")
            with Connection(server.http) as http:
                http.send(sized(b"12345", path=b"/k")[:-2])
                os.kill(server.pid, signal.SIGTERM)
                eventually(lambda: is_refused(socket.AF_UNIX, path), "that the socket is refused")
                eventually(lambda: is_refused(socket.AF_INET, ("127.0.0.1", server.http)), "that the port is refused")
                http.send(b"45")
                check_equal(Answer(http).status, 201, "who was there")


def before_it_serves():
    """Memory that is being mapped is not waited for: there is nobody yet whom it would cut off."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # A fast machine may have done with it before the signal comes.
        for _ in range(20):
            status, output = end_while_mapping(number)
            if "listen" not in output:
                check_equal(status, -number, "status")
                break
            check_equal(status, 0, "status")
        else:
            raise Skipped("memory is mapped here faster than a signal comes")


def end_while_mapping(number):
    program = program_of("NUMASTORE", "numastore")
    process = subprocess.Popen([program, "--memory", "512M", "-p", "-1", "--http-port", "0"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE_S
    while process.poll() is None and resident_kib(process) < 96 << 10:
        check(time.monotonic() < end, "no memory is mapped")
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output


def run():
    for part in (answer_in_the_kernel, begun_requests, no_address_is_left, before_it_serves):
        part()
        print(f"{part.__name__}: as it should be", flush=True)


if __name__ == "__main__":
    sys.exit(main_of(run))
