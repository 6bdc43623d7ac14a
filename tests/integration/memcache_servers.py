# SPDX-License-Identifier: BSD-3-Clause
"""Servers to be tested, and connections to them: for the scripts beside this one.

NUMASTORE names the program. All listen on 127.0.0.1.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60  # a busy machine, a sanitizer


class Wrong(Exception):
    """Something is not as it should be."""


class Skipped(Exception):
    """It cannot be tried here."""


def check(is_so, *what):
    if not is_so:
        raise Wrong(" ".join(str(word) for word in what))


def check_equal(found, expected, what):
    if found != expected:
        raise Wrong(f"{what}: {found!r:.600} instead of {expected!r:.600}")


def eventually(is_so, *what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        check(time.monotonic() < end, "never came true:", *what)
        time.sleep(0.02)


def main_of(run):
    """Exit status of run(): 0, 77 with the reason that it cannot be tried here, or 1 with what is wrong."""
    try:
        run()
        return 0
    except Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    except Wrong as wrong:
        print(f"failed: {wrong}", file=sys.stderr)
        return 1


class Process:
    """A server whose output is kept; `with` ends it, and then it must have ended well."""

    def __init__(self, command):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def wait_for(self, is_up, what):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = is_up()
            if found:
                return found
            check(self.process.poll() is None, what, "does not start:", self.output())
            time.sleep(0.02)
        raise Wrong(f"{what} is not up after {PATIENCE_S} s: {self.output()}")

    def stop(self):
        """Status and output."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong(f"it does not end on SIGTERM: {self.output()}") from None
        return status, self.output()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        status, output = self.stop()
        if kind is not None and status != 0:
            print(output[-4000:], file=sys.stderr)
        elif kind is None:
            # A sanitizer makes another one of this, for a leak too.
            check(status == 0, f"it ended with {status}:", output[-4000:])


def program_of(variable, name):
    program = os.environ.get(variable) or shutil.which(name)
    if not program:
        raise Skipped(f"no {name} here, and {variable} does not name it")
    return program


class Numastore(Process):
    """numastore on a port that is free, with one worker unless told; self.port."""

    def __init__(self, *options, memory="64M", cores=1):
        program = program_of("NUMASTORE", "numastore")
        has_socket = "-s" in options
        ports = ["--http-port", "0"] + ([] if has_socket else ["-p", "-1"])
        super().__init__([program, *ports, "--memory", memory, "--cores", str(cores), *options])
        pattern = r"memcache listens on (\S+)\n" if has_socket else r"memcache listens on \S+:(\d+)\n"
        found = self.wait_for(lambda: re.search(pattern, self.output()), "numastore")
        self.port = found.group(1) if has_socket else int(found.group(1))

    @property
    def pid(self):
        return self.process.pid


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
        return True
    except ConnectionRefusedError:
        return False


class Memcached(Process):
    """Debian's memcached; self.port. Somebody else may be faster to take a port: so it is tried again."""

    def __init__(self, *options):
        program = shutil.which("memcached")
        if not program:
            raise Skipped("no memcached here")
        user = ["-u", "root"] if os.getuid() == 0 else []
        for _ in range(5):
            self.port = free_port()
            super().__init__([program, *user, "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-t", "1", *options])
            try:
                self.wait_for(lambda: is_listening(self.port), "memcached")
                return
            except Wrong:
                self.stop()
        raise Wrong(f"memcached does not start: {self.output()}")


class Connection:
    """A connection over which whole answers are asked for."""

    def __init__(self, port, timeout=PATIENCE_S):
        if isinstance(port, int):
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(port)
        self.got = b""

    def send(self, data):
        self.socket.sendall(data)

    def send_bytewise(self, data):
        for i in range(len(data)):
            self.socket.sendall(data[i : i + 1])

    def read_until(self, end):
        """All up to and with @end; what came before the other side closed, if it did."""
        while end not in self.got:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                found, self.got = self.got, b""
                return found
            self.got += more
        at = self.got.index(end) + len(end)
        found, self.got = self.got[:at], self.got[at:]
        return found

    def read_exactly(self, count):
        while len(self.got) < count:
            more = self.socket.recv(1 << 16)
            check(more, "the connection ended after", self.got[-200:])
            self.got += more
        found, self.got = self.got[:count], self.got[count:]
        return found

    def read_all(self):
        """Until the other side closes."""
        try:
            while True:
                more = self.socket.recv(1 << 16)
                if not more:
                    break
                self.got += more
        except ConnectionResetError:
            pass
        found, self.got = self.got, b""
        return found

    def ask(self, request, end=b"\r\n"):
        self.send(request)
        return self.read_until(end)

    def stats(self, kind=""):
        lines = self.ask(b"stats %s\r\n" % kind.encode(), b"END\r\n").decode().split("\r\n")[:-2]
        check(all(line.startswith("STAT ") for line in lines), "stats", kind, lines)
        return dict(line.split(" ", 2)[1:] for line in lines)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
