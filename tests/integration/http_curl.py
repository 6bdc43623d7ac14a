#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every feature of numastore's HTTP with curl, as a user would try them, and the admin port.

    http_curl.py

NUMASTORE names the program. Status: 0, 1 failed, 77 cannot run here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from http_refusals import HttpNumastore
from memcache_servers import PATIENCE_S, Connection, Skipped, check, check_equal, free_port, main_of


class Curl:
    """curl, and what it got."""

    def __init__(self, folder, port):
        self.folder, self.base = folder, f"http://127.0.0.1:{port}"

    def __call__(self, *arguments, path="/k"):
        head, body = os.path.join(self.folder, "head"), os.path.join(self.folder, "body")
        for name in (head, body):
            if os.path.exists(name):
                os.unlink(name)
        done = subprocess.run(["curl", "-sS", "--max-time", "60", "-D", head, "-o", body, "-w", "%{http_code}",
                               *arguments, self.base + path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        check(done.returncode == 0, "curl", arguments, path, "ends with", done.returncode, done.stderr)
        with open(head, encoding="latin-1") as file:
            self.head = file.read()
        self.body = b""
        if os.path.exists(body):
            with open(body, "rb") as file:
                self.body = file.read()
        return int(done.stdout[-3:])

    def field(self, name):
        found = re.findall(rf"(?im)^{name}: *(.*?)\r?$", self.head)
        return found[-1] if found else None

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path


def check_storing(curl):
    small, large = curl.file("small", b"hello"), curl.file("large", os.urandom(3 << 20))
    with open(large, "rb") as file:
        large_bytes = file.read()
    check_equal(curl("-T", small), 201, "PUT of a new one")
    first_tag = curl.field("ETag")
    check_equal(curl("-T", small), 204, "PUT of another")
    check(curl.field("ETag") != first_tag, "the tag stays", first_tag)
    check_equal((curl(), curl.body), (200, b"hello"), "GET")
    check_equal(curl.field("Content-Type"), "application/octet-stream", "its type")
    check(curl.field("Date"), "no Date")
    check_equal(curl("-T", small, "-H", "Content-Type: text/plain; charset=utf-8"), 204, "PUT with a type")
    check_equal((curl(), curl.field("Content-Type")), (200, "text/plain; charset=utf-8"), "the type is kept")
    # curl asks first (Expect: 100-continue) when there is much to send.
    check_equal(curl("-T", large, "-H", "Expect: 100-continue", path="/large"), 201, "a large PUT")
    check("100 Continue" in curl.head, "nobody said 100 Continue:", curl.head)
    check_equal((curl(path="/large"), curl.body == large_bytes), (200, True), "a large GET")
    check_equal(curl("-T", large, "-H", "Transfer-Encoding: chunked", path="/chunked"), 201, "a PUT in chunks")
    check_equal((curl(path="/chunked"), curl.body == large_bytes), (200, True), "what came in chunks")
    check_equal(curl("-T", curl.file("empty", b""), path="/empty"), 201, "PUT of nothing")
    check_equal((curl(path="/empty"), curl.body), (200, b""), "GET of nothing")


def check_head_and_delete(curl):
    check_equal((curl("-I"), curl.field("Content-Length")), (200, "5"), "HEAD")
    check_equal(curl("-I", path="/none"), 404, "HEAD of none")
    check_equal(curl("-X", "DELETE", path="/empty"), 204, "DELETE")
    check_equal(curl("-X", "DELETE", path="/empty"), 404, "DELETE of none")
    check_equal(curl("-X", "OPTIONS"), 204, "OPTIONS")
    check_equal(curl.field("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS", "what is allowed")
    check_equal((curl("-d", "x"), curl.field("Allow") is None), (405, False), "POST")


def check_ranges(curl):
    for text, status, body, field in (("1-3", 206, b"ell", "bytes 1-3/5"), ("3-", 206, b"lo", "bytes 3-4/5"),
                                      ("-2", 206, b"lo", "bytes 3-4/5"), ("9-", 416, b"", "bytes */5")):
        check_equal((curl("-r", text), curl.body, curl.field("Content-Range")), (status, body, field), text)
    check_equal((curl("-r", "0-1,3-4"), curl.body), (200, b"hello"), "two ranges")


def check_conditions(curl):
    curl()
    tag = curl.field("ETag")
    small = curl.file("small", b"world")
    check_equal(curl("-H", f"If-None-Match: {tag}"), 304, "what the client has")
    check_equal(curl("-H", 'If-None-Match: "0"'), 200, "what it has not")
    check_equal(curl("-H", 'If-Match: "0"'), 412, "another one")
    check_equal(curl("-T", small, "-H", 'If-Match: "0"'), 412, "PUT over another one")
    check_equal(curl("-T", small, "-H", f"If-Match: {tag}"), 204, "PUT over that one")
    check_equal(curl("-T", small, "-H", f"If-Match: {tag}"), 412, "PUT over one that is no more")
    check_equal(curl("-T", small, "-H", "If-None-Match: *"), 412, "PUT of what is there")
    check_equal(curl("-T", small, "-H", "If-None-Match: *", path="/new"), 201, "PUT of what is not")
    check_equal(curl("-X", "DELETE", "-H", f"If-Match: {tag}"), 412, "DELETE of one that is no more")
    curl()
    tag = curl.field("ETag")
    check_equal((curl("-r", "0-1", "-H", f"If-Range: {tag}"), curl.body), (206, b"wo"), "If-Range, the same")
    check_equal((curl("-r", "0-1", "-H", 'If-Range: "0"'), curl.body), (200, b"world"), "If-Range, another")


def check_connections(curl):
    check_equal(curl("--http1.0"), 200, "HTTP/1.0")
    done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-o", "/dev/null", "-w", "%{num_connects} ",
                           curl.base + "/k", curl.base + "/none"], stdout=subprocess.PIPE, text=True, check=True)
    check_equal(done.stdout, "1 0 ", "the second request goes over the first one's connection")


def check_keys(curl, port):
    """The path with its first slash is the key; what stands behind ? is no part of it."""
    with Connection(port) as memcache:
        memcache.ask(b"set /a/b 5 0 3\r\nabc\r\n")
        for path in ("/a/b", "/a%2Fb", "/a/b?version=3"):
            check_equal((curl(path=path), curl.body), (200, b"abc"), path)
        check_equal(curl("-T", curl.file("small", b"by HTTP"), path="/c%3Fd"), 201, "a key with ?")
        check_equal(memcache.ask(b"get /c?d\r\n", b"END\r\n"), b"VALUE /c?d 0 7\r\nby HTTP\r\nEND\r\n", "over memcache")
        check_equal(memcache.ask(b"get c?d\r\n", b"END\r\n"), b"END\r\n", "without its slash")


def ask_prometheus(port, query):
    """The values of a query; none while it is starting."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=10) as answer:
            return [float(result["value"][1]) for result in json.load(answer)["data"]["result"]]
    except (OSError, ValueError):
        return []


def check_prometheus(folder, port):
    """A real one takes what /metrics says."""
    if not shutil.which("prometheus"):
        print("without Prometheus, which is not here")
        return
    config = os.path.join(folder, "prometheus.yml")
    with open(config, "w", encoding="ascii") as file:
        file.write("scrape_configs: [{job_name: numastore, scrape_interval: 1s, "
                   f"static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n")
    own = free_port()
    prometheus = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
                                   f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE_S
        while ask_prometheus(own, "up") != [1.0]:
            check(time.monotonic() < end, "Prometheus does not take it:", ask_prometheus(own, "up"))
            time.sleep(0.2)
        check_equal(ask_prometheus(own, "numastore_draining"), [0.0], "what it has")
        check(ask_prometheus(own, "numastore_connections_total")[0] >= 1, "a counter")
    finally:
        prometheus.terminate()
        prometheus.wait()


def check_admin(folder, server, port):
    admin = Curl(folder, port)
    check_equal((admin(path="/healthz"), admin.body.strip()), (200, b"ok"), "/healthz")
    check_equal(admin(path="/metrics"), 200, "/metrics")
    check(b"# EOF" in admin.body, "no OpenMetrics:", admin.body[-200:])
    check(re.search(rb"(?m)^numastore_\w+", admin.body), "no metrics:", admin.body[:500])
    check_equal(admin(path="/other"), 404, "anything else")
    check_prometheus(folder, port)
    check(server.process.poll() is None, "the server is gone")


def check_read_only(folder):
    with HttpNumastore("--http-read-only") as server:
        curl = Curl(folder, server.http)
        with Connection(server.port) as memcache:
            memcache.ask(b"set /k 0 0 5\r\nhello\r\n")
        check_equal((curl("-T", curl.file("small", b"x")), curl.field("Allow")), (405, "GET, HEAD, OPTIONS"), "PUT")
        check_equal(curl("-X", "DELETE"), 405, "DELETE")
        check_equal((curl(), curl.body), (200, b"hello"), "GET")


def run():
    if not shutil.which("curl"):
        raise Skipped("no curl here")
    with tempfile.TemporaryDirectory() as folder:
        with HttpNumastore("-I", "8M", "--admin-port", "-1") as server:
            curl = Curl(folder, server.http)
            check_storing(curl)
            check_head_and_delete(curl)
            check_ranges(curl)
            check_conditions(curl)
            check_connections(curl)
            check_keys(curl, server.port)
            check_admin(folder, server, server.port_of("admin"))
        check_read_only(folder)


if __name__ == "__main__":
    sys.exit(main_of(run))
