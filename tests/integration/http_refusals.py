#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What numastore answers to HTTP that is no request, or one too many; and the edges of what is one.

    http_refusals.py

Each row of the table is sent at once, byte by byte, in random pieces, and behind a good request in one packet. The
status must be that one, and behind it the connection goes on (another request is answered) or is closed, as the row
says. NUMASTORE names the program; in the end it must exit with 0, which with a sanitizer means that nothing was found
and nothing is lost. Status: 0, 1 failed, 77 cannot run here.
"""

import random
import re
import sys

from memcache_servers import Connection, Numastore, check, check_equal, main_of

GOES_ON = True
CLOSED = False
VALUE = b"0123456789"
ITEM_MAX = 1 << 20
HEAD_MAX = 32768
LINE_MAX = 8192


class HttpNumastore(Numastore):
    """With HTTP on a port that is free: self.http; self.admin, if asked for."""

    def __init__(self, *options, **more):
        super().__init__("--http-port", "-1", *options, **more)
        self.http = self.port_of("HTTP")

    def port_of(self, what):
        return int(self.wait_for(lambda: re.search(rf"{what} listens on \S+:(\d+)\n", self.output()), what).group(1))


class Answer:
    """One answer off a connection; status 0: it was closed."""

    def __init__(self, connection, is_head=False):
        self.head = connection.read_until(b"\r\n\r\n")
        self.body = b""
        self.status = 0
        self.fields = {}
        if not self.head:
            return
        check(self.head.endswith(b"\r\n\r\n"), "a head that is cut short:", self.head)
        first, *lines = self.head[:-4].split(b"\r\n")
        check(first.startswith(b"HTTP/1.1 "), "no status line:", first)
        self.status = int(first.split(b" ")[1])
        self.fields = {name.lower(): value.strip() for name, value in (line.split(b":", 1) for line in lines)}
        if is_head or self.status in (204, 304) or self.status < 200:
            return
        check(b"content-length" in self.fields, "no Content-Length:", self.head)
        self.body = connection.read_exactly(int(self.fields[b"content-length"]))


def get(path=b"/k", fields=b"", version=b"1.1", host=b"Host: h\r\n"):
    return b"GET %s HTTP/%s\r\n%s%s\r\n" % (path, version, host, fields)


def put(fields, body=b"", path=b"/p"):
    return b"PUT %s HTTP/1.1\r\nHost: h\r\n%s\r\n" % (path, fields) + body


def sized(body=VALUE, fields=b"", path=b"/p"):
    return put(b"Content-Length: %d\r\n%s" % (len(body), fields), body, path)


def chunked(body, fields=b""):
    return put(b"Transfer-Encoding: chunked\r\n" + fields, body)


# What is sent, the status, and whether the connection goes on behind it. k is VALUE, empty is empty, nothing else is.
TABLE = [
    # Host
    (get(host=b""), 400, CLOSED),
    (get(host=b"Host: a\r\nHost: b\r\n"), 400, CLOSED),
    (get(host=b"Host: a\r\nHost: a\r\n"), 400, CLOSED),
    (b"GET /k HTTP/1.0\r\n\r\n", 200, CLOSED),
    (b"GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, GOES_ON),
    # the first line
    (get(version=b"2.0"), 505, CLOSED),
    (get(version=b"1.2"), 200, GOES_ON),
    (get(version=b"1.1x"), 400, CLOSED),
    (get(version=b"1"), 400, CLOSED),
    (b"GET /k\r\n\r\n", 400, CLOSED),
    (b"GET  /k HTTP/1.1\r\nHost: h\r\n\r\n", 400, CLOSED),
    (b"GET /k  HTTP/1.1\r\nHost: h\r\n\r\n", 400, CLOSED),
    (b"GET /k HTTP/1.1 \r\nHost: h\r\n\r\n", 400, CLOSED),
    (b"GET k HTTP/1.1\r\nHost: h\r\n\r\n", 400, CLOSED),
    (b"GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, CLOSED),
    (b"GET /\x80 HTTP/1.1\r\nHost: h\r\n\r\n", None, None),  # either way, but it must answer
    (b"get a\r\n\r\n", 400, CLOSED),
    (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, CLOSED),
    (b"\r\n\r\n" + get(), 200, GOES_ON),
    # methods
    (b"get /k HTTP/1.1\r\nHost: h\r\n\r\n", 501, GOES_ON),
    (b"BREW /k HTTP/1.1\r\nHost: h\r\n\r\n", 501, GOES_ON),
    (b"TRACE /k HTTP/1.1\r\nHost: h\r\n\r\n", 405, GOES_ON),
    (b"POST /k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", 405, GOES_ON),
    (b"PATCH /k HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 405, GOES_ON),
    (b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 204, GOES_ON),
    (b"OPTIONS /k HTTP/1.1\r\nHost: h\r\n\r\n", 204, GOES_ON),
    (b"GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400, None),
    # where a body ends
    (put(b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), 400, CLOSED),
    (put(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"), 400, CLOSED),
    (put(b"Content-Length: 1\r\nContent-Length: 2\r\n", b"xx"), 400, CLOSED),
    (put(b"Content-Length: 1\r\nContent-Length: 1\r\n", b"x"), 400, CLOSED),
    (put(b"Content-Length: 1, 1\r\n", b"x"), 400, CLOSED),
    (put(b"Content-Length: +3\r\n", b"xxx"), 400, CLOSED),
    (put(b"Content-Length: -1\r\n"), 400, CLOSED),
    (put(b"Content-Length: 0x1\r\n", b"x"), 400, CLOSED),
    (put(b"Content-Length: 1 1\r\n", b"x"), 400, CLOSED),
    (put(b"Content-Length:\r\n"), 400, CLOSED),
    (put(b"Content-Length: 18446744073709551616\r\n"), 400, CLOSED),
    (put(b"Content-Length: 18446744073709551615\r\n"), 413, CLOSED),
    (put(b"Content-Length: %d\r\n" % (ITEM_MAX + 1)), 413, CLOSED),
    (put(b""), 411, CLOSED),
    (put(b"Transfer-Encoding: gzip\r\n"), 501, CLOSED),
    (put(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), 501, CLOSED),
    (put(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"), None, CLOSED),
    (put(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n"), None, CLOSED),
    (put(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"), 400, CLOSED),
    (b"PUT /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, CLOSED),
    (put(b"Content-Range: bytes 0-1/4\r\nContent-Length: 2\r\n", b"xx"), 400, GOES_ON),
    (put(b"Content-Encoding: gzip\r\nContent-Length: 2\r\n", b"xx"), 415, GOES_ON),
    (get(fields=b"Content-Length: 3\r\n") + b"abc", 200, GOES_ON),
    # chunks
    (chunked(b"3\r\nabc\r\n0\r\n\r\n"), 201, GOES_ON),
    (chunked(b"0\r\n\r\n"), 201, GOES_ON),
    (chunked(b"3;name=value;other\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"), 201, GOES_ON),
    (chunked(b"00003\r\nabc\r\n000\r\n\r\n"), 201, GOES_ON),
    (chunked(b"3\r\nabcd\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"3\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"x\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"-3\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"0x3\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b" 3\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"10000000000000000\r\n"), 400, CLOSED),
    (chunked(b"ffffffffffffffff\r\n"), 413, CLOSED),
    (chunked(b"100001\r\n"), 413, CLOSED),
    (chunked(b"3;" + b"e" * 5000 + b"\r\nabc\r\n0\r\n\r\n"), 400, CLOSED),
    (chunked(b"0\r\n" + b"T: x\r\n" * 2000 + b"\r\n"), 400, CLOSED),
    # fields
    (get(fields=b"A : b\r\n"), 400, CLOSED),
    (get(fields=b" folded: b\r\n"), 400, CLOSED),
    (get(fields=b"A: b\r\n folded\r\n"), 400, CLOSED),
    (get(fields=b"A: b\r\n\tfolded\r\n"), 400, CLOSED),
    (get(fields=b"A: \x00\r\n"), 400, CLOSED),
    (get(fields=b"A: b\rc\r\n"), 400, CLOSED),
    (get(fields=b"A\x01: b\r\n"), 400, CLOSED),
    (get(fields=b": b\r\n"), 400, CLOSED),
    (get(fields=b"A\r\n"), 400, CLOSED),
    (b"GET /k HTTP/1.1\nHost: h\n\n", 400, CLOSED),
    (get(fields=b"A: b\n"), 400, CLOSED),
    (get(fields=b"A: b\r\n" * 99), 200, GOES_ON),
    (get(fields=b"A: b\r\n" * 100), 431, CLOSED),
    (get(fields=b"A: " + b"b" * 40000 + b"\r\n"), 431, CLOSED),
    (get(b"/" + b"k" * 20000), 414, CLOSED),
    (b"GET /" + b"k" * 20000, 414, CLOSED),
    (get(fields=b"Expect: foo\r\n"), 417, None),
    (sized(fields=b"Expect: foo\r\n"), 417, None),
    # keys
    (get(b"/../../etc/passwd"), 400, GOES_ON),
    (get(b"/a/./b"), 400, GOES_ON),
    (get(b"/%2e%2e/k"), 400, GOES_ON),
    (get(b"/%00"), 400, GOES_ON),
    (get(b"/%20"), 400, GOES_ON),
    (get(b"/%0d%0aX:%20y"), 400, GOES_ON),
    (get(b"/%7f"), 400, GOES_ON),
    (get(b"/%zz"), 400, GOES_ON),
    (get(b"/%4"), 400, GOES_ON),
    (get(b"/%6b"), 200, GOES_ON),
    (get(b"/k?a=b"), 200, GOES_ON),
    (get(b"/k%3Fa=b"), 404, GOES_ON),
    (get(b"/" + b"k" * 249), 404, GOES_ON),
    (get(b"/" + b"k" * 250), 414, GOES_ON),
    (get(b"http://h/k"), 200, GOES_ON),
    (get(b"http://h:80/k?x"), 200, GOES_ON),
    (get(b"http://h"), None, None),
    (get(b"ftp://h/k"), 400, None),
    # ranges
    (get(fields=b"Range: bytes=2-4\r\n"), 206, GOES_ON),
    (get(fields=b"Range: bytes=50-\r\n"), 416, GOES_ON),
    (get(fields=b"Range: bytes=10-\r\n"), 416, GOES_ON),
    (get(fields=b"Range: bytes=9-\r\n"), 206, GOES_ON),
    (get(fields=b"Range: bytes=4-2\r\n"), 200, GOES_ON),
    (get(fields=b"Range: bytes=0-18446744073709551616\r\n"), 206, GOES_ON),
    (get(fields=b"Range: bytes=18446744073709551616-\r\n"), 416, GOES_ON),
    (get(fields=b"Range: bytes=-0\r\n"), 416, GOES_ON),
    (get(fields=b"Range: bytes=-3\r\n"), 206, GOES_ON),
    (get(fields=b"Range: bytes=-18446744073709551616\r\n"), 206, GOES_ON),
    (get(fields=b"Range: bytes=" + b",".join([b"0-"] * 200) + b"\r\n"), 200, GOES_ON),
    (get(fields=b"Range: bytes=0-1,3-4\r\n"), 200, GOES_ON),
    (get(fields=b"Range: lines=0-1\r\n"), 200, GOES_ON),
    (get(fields=b"Range: bytes=a-b\r\n"), 200, GOES_ON),
    (get(fields=b"Range: bytes=\r\n"), 200, GOES_ON),
    (get(fields=b"Range: bytes=2-4\r\nIf-Range: \"0\"\r\n"), 200, GOES_ON),
    (get(b"/empty", b"Range: bytes=0-\r\n"), 416, GOES_ON),
    (get(b"/empty", b"Range: bytes=-1\r\n"), 200, GOES_ON),
    # conditions
    (get(fields=b"If-None-Match: *\r\n"), 304, GOES_ON),
    (get(fields=b"If-None-Match: \"0\"\r\n"), 200, GOES_ON),
    (get(fields=b"If-Match: \"0\"\r\n"), 412, GOES_ON),
    (get(fields=b"If-Match: *\r\n"), 200, GOES_ON),
    (get(b"/none", b"If-Match: *\r\n"), 404, GOES_ON),
    (get(b"/none", b"If-None-Match: *\r\n"), 404, GOES_ON),
    (sized(fields=b"If-Match: *\r\n"), 412, GOES_ON),
    (sized(fields=b"If-None-Match: *\r\n"), 201, GOES_ON),
    (sized(fields=b"If-None-Match: *\r\n", path=b"/k"), 412, GOES_ON),
    (sized(fields=b"If-Match: \"0\"\r\n", path=b"/k"), 412, GOES_ON),
    (sized(fields=b"If-Match: *\r\n", path=b"/k"), 204, GOES_ON),
    # as they should be
    (get(), 200, GOES_ON),
    (b"HEAD /k HTTP/1.1\r\nHost: h\r\n\r\n", 200, GOES_ON),
    (get(fields=b"Connection: close\r\n"), 200, CLOSED),
    (sized(), 201, GOES_ON),
    (sized(b""), 201, GOES_ON),
    (sized(b"x" * ITEM_MAX), 201, GOES_ON),
    (sized(path=b"/k"), 204, GOES_ON),
    (b"DELETE /k HTTP/1.1\r\nHost: h\r\n\r\n", 204, GOES_ON),
    (b"DELETE /none HTTP/1.1\r\nHost: h\r\n\r\n", 404, GOES_ON),
    (get(b"/none"), 404, GOES_ON),
    (get() + get() + get(), 200, GOES_ON),
]


def name_of(request):
    return repr(request if len(request) < 160 else request[:120] + b"..." + request[-30:])


def set_up(server):
    with Connection(server.port) as memcache:
        check_equal(memcache.ask(b"flush_all\r\n"), b"OK\r\n", "flush_all")
        for key, value in ((b"/k", VALUE), (b"/empty", b"")):
            check_equal(memcache.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)), b"STORED\r\n", key)


def whole(connection, request):
    connection.send(request)


def bytewise(connection, request):
    connection.send_bytewise(request)


def in_pieces(connection, request):
    at = 0
    while at < len(request):
        size = random.randrange(1, 40)
        connection.send(request[at : at + size])
        at += size


def behind_another(connection, request):
    connection.send(get() + request)
    answer = Answer(connection)
    check_equal((answer.status, answer.body), (200, VALUE), "the request before")


def try_send(send, connection, request):
    """A server that closes early may not take all of it."""
    try:
        send(connection, request)
    except (BrokenPipeError, ConnectionResetError):
        pass


def check_row(server, request, status, goes_on, send):
    set_up(server)
    count = request.count(b"GET /k HTTP/1.1\r\nHost: h\r\n\r\n") or 1
    with Connection(server.http) as connection:
        try_send(send, connection, request)
        for _ in range(count):
            answer = Answer(connection, is_head=request.startswith(b"HEAD"))
            while answer.status == 100:
                answer = Answer(connection)
            check(answer.status >= 200, "no answer")
            check(status is None or answer.status == status, "status", answer.status, answer.body)
        if goes_on is None:
            return
        try_send(whole, connection, get(b"/empty"))
        behind = Answer(connection)
        check(goes_on == (behind.status == 200), "goes on" if behind.status else "is closed", behind.head)


def check_table(server):
    for request, status, goes_on in TABLE:
        ways = [whole, in_pieces, behind_another]
        if len(request) < 3000:
            ways.append(bytewise)
        for send in ways:
            try:
                check_row(server, request, status, goes_on, send)
            except Exception as wrong:
                raise type(wrong)(f"{name_of(request)}, {send.__name__}: {wrong}") from wrong


def check_bodies(server):
    """What the answers of parts are, byte by byte."""
    set_up(server)
    with Connection(server.http) as connection:
        for text, body, field in ((b"2-4", b"234", b"bytes 2-4/10"), (b"-3", b"789", b"bytes 7-9/10"),
                                  (b"0-99", VALUE, b"bytes 0-9/10"), (b"9-", b"9", b"bytes 9-9/10")):
            connection.send(get(fields=b"Range: bytes=%s\r\n" % text))
            answer = Answer(connection)
            check_equal((answer.body, answer.fields[b"content-range"]), (body, field), text)
        connection.send(get(fields=b"Range: bytes=50-\r\n"))
        check_equal(Answer(connection).fields[b"content-range"], b"bytes */10", "416")
        connection.send(b"POST /k HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        check_equal(Answer(connection).fields[b"allow"], b"GET, HEAD, PUT, DELETE, OPTIONS", "405")
        connection.send(b"HEAD /k HTTP/1.1\r\nHost: h\r\n\r\n")
        check_equal(Answer(connection, is_head=True).fields[b"content-length"], b"10", "HEAD")


def check_order(server):
    """Three in one packet are answered in their order."""
    set_up(server)
    with Connection(server.http) as connection:
        connection.send(sized(b"first", path=b"/1") + get(b"/1") + sized(b"second", path=b"/1") + get(b"/1"))
        answers = [Answer(connection) for _ in range(4)]
        check_equal([(a.status, a.body) for a in answers], [(201, b""), (200, b"first"), (204, b""), (200, b"second")],
                    "in order")


def check_refused_before_it_is_sent(server):
    """A body that will not be taken is refused at its head, and the answer arrives though the peer goes on."""
    for fields in (b"Content-Length: 1000000000\r\n", b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n"):
        with Connection(server.http) as connection:
            connection.send(put(fields))
            check_equal(Answer(connection).status, 413, fields)
    with Connection(server.http) as connection:
        try_send(whole, connection, put(b"Content-Length: 1000000000\r\n", b"x" * (64 << 20)))
        check_equal(Answer(connection).status, 413, "while it is sent")


def run():
    random.seed(1)
    with HttpNumastore("-I", str(ITEM_MAX)) as server:
        check_table(server)
        check_bodies(server)
        check_order(server)
        check_refused_before_it_is_sent(server)
    print(f"{len(TABLE)} requests, each sent in three or four ways")


if __name__ == "__main__":
    sys.exit(main_of(run))
