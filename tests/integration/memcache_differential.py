#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends the same random commands to memcached 1.6.18 and to numastore, and compares the replies.

    memcache_differential.py [--seed N,N...] [--rounds N] [--commands N] [--large] [HOST:PORT HOST:PORT]

Servers are started unless they are named: the first is the peer, the second numastore. A round is a flush_all and a row
of commands, one after the other or all at once in random pieces. Before the rounds come, where we start the servers,
times that end while we wait, and what stats tell. NUMASTORE names the program. Exit status: 0 equal, 1 a
difference (the shortest row of commands that shows it is printed, with the seed), 2 usage or a server cannot be
reached, 77 cannot run here.

Replies are compared byte by byte. What may differ stands in docs/memcache.md: it is in NORMALISED, or not sent. CAS
numbers are replaced by the order in which they first appear in the round, and a command that needs one takes it from
that server's own last reply for the key.
"""

import argparse
import base64
import random
import re
import socket
import sys
import time

from memcache_servers import PATIENCE_S, Connection, Memcached, Numastore, Skipped, check, check_equal, main_of

KEYS = [b"k%d" % i for i in range(12)] + [b"a" * 250]
COUNTERS = KEYS[:6]  # only these are incremented; they are never empty, nor appended to
READ = KEYS[6:9]  # only these are asked whether they were read
TOUCHED = KEYS[9:]  # only these are touched
BINARY_KEYS = [bytes([i, 0, 32, 127, 255]) for i in range(3)]
NUMBERS = [b"0", b"1", b"9", b"10", b"99", b"18446744073709551615", b"12345 ", b"x", b"1x"]
TIMES = [0, 0, 0, 100, 2592000, -1]
PEER_VERSION = "1.6.18"
ITEM_MAX = 1 << 20
# Within memcached's limit are its header and the key, and there is to be room for what is appended.
LARGEST = ITEM_MAX - 20_000
LARGE = [100_000, 500_000, 524_288, 700_000, LARGEST, ITEM_MAX + 1, ITEM_MAX + 5000]


class Server:
    """One connection."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.asked = 0
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request, pieces=None):
        """What is answered up to a miss with an opaque of its own, which is asked for behind it."""
        self.asked += 1
        request += b"mg missing Oend%d\r\n" % self.asked
        for size in pieces or ():
            self.socket.sendall(request[:size])
            request = request[size:]
        self.socket.sendall(request)
        end = b"EN Oend%d\r\n" % self.asked
        reply = b""
        while not reply.endswith(end):
            more = self.socket.recv(1 << 16)
            if not more:
                return reply + b"<closed>"
            reply += more
        return reply[: -len(end)]


# ---- commands: each is a list of pieces, bytes or the name of a key whose CAS number goes there ----


def value(random_, key):
    kind = random_.randrange(4)
    if kind == 0 and key not in COUNTERS:
        return b""
    if kind == 0:
        return random_.choice(NUMBERS)
    if kind == 1:
        data = bytes([255] + [random_.randrange(256) for _ in range(random_.randrange(40))])
        return data.replace(b"-", b"_")
    if kind == 2:
        return b"x\r\nEND\r\n"[: random_.randrange(1, 9)]
    if random_.sizes and key not in COUNTERS:
        return bytes([random_.randrange(256)]) * random_.choice(random_.sizes)
    return b"v" * random_.choice([1, 100, 1000, 20000])


def noreply(random_):
    return b" noreply" if random_.random() < 0.15 else b""


def addition_max(random_):
    """More than an object may have by addition is NOT_STORED in 1.6.18, and in numastore as with set."""
    return 100 if random_.sizes else None


def storage(random_, verb, key):
    if verb in (b"append", b"prepend"):
        key = random_.choice(KEYS[6:])
    data = value(random_, key)
    if verb in (b"append", b"prepend"):
        data = data[: addition_max(random_)]
    flags = random_.choice([0, 1, 65535, 4294967295])
    line = b"%s %s %d %d %d" % (verb, key, flags, random_.choice(TIMES), len(data))
    return [line + noreply(random_) + b"\r\n" + data + b"\r\n"]


def compare_and_set(random_, key):
    data = value(random_, key)
    line = b"cas %s 1 0 %d " % (key, len(data))
    number = ("cas", key) if random_.random() < 0.7 else b"18446744073709551615"
    return [line, number, noreply(random_) + b"\r\n" + data + b"\r\n"]


def classic(random_):
    key = random_.choice(KEYS)
    kind = random_.randrange(14)
    if kind < 4:
        keys = b" ".join(random_.choice(KEYS) for _ in range(random_.choice([1, 1, 1, 3, 40])))
        return [random_.choice([b"get ", b"gets "]) + keys + b"\r\n"]
    if kind == 4:
        verb = random_.choice([b"gat", b"gats"])
        return [b"%s %d %s %s\r\n" % (verb, random_.choice(TIMES), key, random_.choice(KEYS))]
    if kind < 9:
        verbs = [b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend"]
        return storage(random_, random_.choice(verbs), key)
    if kind == 9:
        return compare_and_set(random_, key)
    if kind == 10:
        verb = random_.choice([b"incr", b"decr"])
        delta = random_.choice([b"0", b"1", b"5", b"100", b"18446744073709551615", b"x", b"-1"])
        return [verb + b" " + random_.choice(COUNTERS) + b" " + delta + noreply(random_) + b"\r\n"]
    if kind == 11:
        return [b"delete " + key + random_.choice([b"", b" 0", b" 5", b" x"]) + noreply(random_) + b"\r\n"]
    if kind == 12:
        return [b"touch %s %d" % (random_.choice(TOUCHED), random_.choice(TIMES)) + noreply(random_) + b"\r\n"]
    return [
        random_.choice(
            [b"verbosity 1\r\n", b"verbosity\r\n", b"zzz\r\n", b"get\r\n", b"\r\n", b"delete\r\n", b"touch k\r\n"]
            + [b"flush_all\r\n", b"flush_all 0 noreply\r\n", b"incr k\r\n", b"set k 0 0\r\n", b"mg\r\n", b"shutdown\r\n"]
            + [b"touch k noreply\r\n", b"incr k noreply\r\n", b"set k 0 0 noreply\r\n", b"append k 0 0 x noreply\r\n"]
            + [b"touch " + b"k" * 251 + b" 0\r\n", b"cache_memlimit 0\r\n", b"stats nothing\r\n", b"me\r\n", b"ms k\r\n"]
        )
    ]


def flags_of(random_, letters, most=5):
    chosen = random_.sample(letters, min(len(letters), random_.randrange(most + 1)))
    return b"".join(b" " + flag for flag in chosen)


def n_first(flags):
    return b" ".join(sorted(flags.split(b" "), key=lambda flag: flag[:1] not in (b"", b"N")))


def echo_flags(random_):
    return [b"k", b"O" + b"o" * random_.randrange(1, 31), b"q"]


def meta_key(random_):
    """A key, and the flag that goes with it."""
    if random_.random() < 0.2:
        return base64.b64encode(random_.choice(BINARY_KEYS)), b" b"
    return random_.choice(KEYS), b""


def compared(random_, key, binary):
    """A C flag, or nothing."""
    if random_.random() < 0.7:
        return [b""]
    if random_.random() < 0.3 or binary:
        return [random_.choice([b" C18446744073709551615", b" C1", b" C0"])]
    return [b" C", ("cas", key)]


def meta_set(random_, key, binary):
    mode = random_.choice([b"ME", b"MA", b"MP", b"MR", b"MS", b"MZ", b"MSET"])
    if (key in COUNTERS or binary) and mode in (b"MA", b"MP"):
        mode = b"MS"
    # One too large takes the old value with it in 1.6.18, whatever its mode and its C.
    data = value(random_, key)[:LARGEST]
    if mode in (b"MA", b"MP"):
        data = data[: addition_max(random_)]
    letters = echo_flags(random_) + [b"c", b"F7", b"T%d" % random_.choice([0, 100, 5000]), mode]
    head = b"ms %s %d" % (key, len(data)) + binary + flags_of(random_, letters)
    number = compared(random_, key, binary)
    may_be_late = key not in COUNTERS and len(number) == 1 and number[0]
    late = b" I" if may_be_late and random_.random() < 0.5 else b""
    return [head, *number, late + b"\r\n" + data + b"\r\n"]


def meta(random_):
    key, binary = meta_key(random_)
    kind = random_.randrange(10)
    time = random_.choice([0, 100, 5000])
    if kind < 4:
        letters = echo_flags(random_) + [b"v", b"v", b"s", b"f", b"t", b"c", b"h"]
        letters += [b"N%d" % time, b"R%d" % random_.choice([30, 200]), b"T%d" % time]
        letters = [flag for flag in letters if flag[:1] != b"N" or key in KEYS[6:]]
        letters = [flag for flag in letters if flag != b"h" or key in READ]
        letters = [flag for flag in letters if flag[:1] not in (b"R", b"s") or key not in COUNTERS]
        return [b"mg " + key + binary + n_first(flags_of(random_, letters, 7)) + b"\r\n"]
    if kind < 7:
        return meta_set(random_, key, binary)
    if kind == 7:
        letters = echo_flags(random_) + [b"T%d" % random_.choice([30, 100])] + [b"I"] * (key not in COUNTERS)
        head = b"md " + key + binary + flags_of(random_, letters)
        return [head, *compared(random_, key, binary), b"\r\n"]
    if kind == 8:
        letters = echo_flags(random_) + [b"v", b"t", b"c", b"D5", b"J13", b"MZ"]
        letters += [b"N%d" % time, random_.choice([b"MI", b"MD", b"M+", b"M-", b"Mi", b"Md", b"MX"])]
        key, binary = random_.choice(COUNTERS), b""
        chosen = n_first(flags_of(random_, letters, 6))
        if b" N" in chosen:
            chosen = chosen.replace(b" q", b"")
        head = b"ma " + key + binary + chosen
        number = [b" C", ("cas", key)] if random_.random() < 0.2 else []
        return [head, *number, b"\r\n"]
    if not binary:
        key = random_.choice(READ)
    return [random_.choice([b"mn\r\n", b"me " + key + binary + b"\r\n", b"mg " + key + b" !\r\n", b"md " + key + b" v v\r\n"])]


def command(random_):
    return classic(random_) if random_.random() < 0.6 else meta(random_)


# ---- one round ----


def is_bytes(piece):
    return isinstance(piece, bytes)


def cas_of(server, key):
    found = re.match(rb"HD c(\d+)", server.ask(b"mg %s c u\r\n" % key))
    return found.group(1) if found else b"1"


def resolve(server, pieces):
    return b"".join(piece if is_bytes(piece) else cas_of(server, piece[1]) for piece in pieces)


NORMALISED = [
    (re.compile(rb"(?m)^(VALUE \S+ \d+ [?\d]+ )(\d+)(?=\r$)"), True),
    (re.compile(rb"(?m)^((?:HD|VA [?\d]+|EX|NF|NS)(?: [^\r\n]*?)? c)(\d+)(?=[ \r])"), True),
    (re.compile(rb"(?m)^(ME [^\r\n]*? cas=)(\d+)"), True),
    (re.compile(rb"(?m)^(ME [^\r\n]*? la=)(\d+)"), False),
    (re.compile(rb"(?m)^(ME [^\r\n]*? cls=)(\d+)"), False),
    (re.compile(rb"(?m)^(ME [^\r\n]*? size=)(\d+)"), False),
    # Clocks that tick between the two.
    (re.compile(rb"(?m)^((?:HD|VA [?\d]+)(?: [^\r\n]*?)? t)(\d+)(?=[ \r])"), "time"),
    (re.compile(rb"(?m)^(ME [^\r\n]*? exp=)-?(\d+)"), "time"),
]


PADDED = [
    (re.compile(rb"(?m)^(VALUE \S+ \d+ )\d+((?: \d+)?\r\n\d+) *(?=\r$)"), rb"\1?\2"),
    (re.compile(rb"(?m)^(VA )\d+((?: [^\r\n]*)?\r\n\d+) *(?=\r$)"), rb"\1?\2"),
]


def normalise(reply, numbers):
    def replaced(match, how):
        text = match.group(2)
        if how == "time":
            text = b"%d" % ((int(text) + 5) // 10 * 10)
        elif not how:
            text = b"?"
        elif text != b"0":
            text = b"#%d" % numbers.setdefault(text, len(numbers))
        return match.group(1) + text

    for pattern, text in PADDED:
        reply = pattern.sub(text, reply)
    for pattern, how in NORMALISED:
        reply = pattern.sub(lambda match, how=how: replaced(match, how), reply)
    return reply


def pieces_of(random_, size):
    """Where a request is cut: not at all, into a few pieces, or into many small ones."""
    pieces = []
    longest = random_.choice([size + 1, 5000, 100, 10])
    while sum(pieces) < size and longest <= size and len(pieces) < 2000:
        pieces.append(random_.randrange(1, longest + 1))
    return pieces


def first_difference(servers, row, one_by_one, random_=None):
    """None, or (what was sent, the two replies). In one piece there is no asking for CAS numbers in between."""
    numbers = ({}, {})
    for server in servers:
        server.ask(b"flush_all\r\n")
    if not one_by_one:
        row = [pieces for pieces in row if all(map(is_bytes, pieces))]
        request = b"".join(piece for pieces in row for piece in pieces)
        cuts = pieces_of(random_, len(request))
        replies = [normalise(server.ask(request, cuts), numbers[i]) for i, server in enumerate(servers)]
        return None if replies[0] == replies[1] else (request, replies)
    for pieces in row:
        requests = [resolve(server, pieces) for server in servers]
        replies = [normalise(server.ask(requests[i]), numbers[i]) for i, server in enumerate(servers)]
        if replies[0] != replies[1]:
            return requests[1], replies
    return None


def shortest(servers, row):
    """Takes commands out for as long as a difference remains."""
    at = 0
    while at < len(row):
        rest = row[:at] + row[at + 1 :]
        if rest and first_difference(servers, rest, True):
            row = rest
        else:
            at += 1
    return row


def compare(servers, seed, options):
    """Whether all replies of that seed's rounds are equal; says so."""
    random_ = random.Random(seed)
    random_.sizes = LARGE if options.large else None
    for number in range(options.rounds):
        row = [command(random_) for _ in range(options.commands)]
        found = first_difference(servers, row, number % 2 == 0, random_)
        if not found:
            continue
        row = shortest(servers, row)
        sent, replies = first_difference(servers, row, True) or found
        print(f"seed {seed}, round {number}: replies differ")
        for pieces in row:
            print("   ", f"{pieces!r:.300}")
        print(f"sent  {sent!r:.400}\npeer  {replies[0]!r:.400}\nours  {replies[1]!r:.400}")
        return False
    print(f"seed {seed}: {options.rounds} rounds of {options.commands} commands, equal replies")
    return True


# ---- times that end while we wait ----

# Each makes or changes the key that is named in it: one that stays, or one that ends soon.
ENDING = [
    b"set s1 0 2 1\r\n1\r\n",
    b"set s3 0 3 1\r\n1\r\n",
    b"set s0 0 0 1\r\n1\r\n",
    b"set s100 0 100 1\r\n1\r\n",
    b"set sn 0 -5 1\r\n1\r\n",
    b"add a1 0 2 1\r\n1\r\n",
    b"add a100 0 100 1\r\n1\r\n",
    b"set r1 0 0 1\r\n1\r\nreplace r1 0 2 1\r\n1\r\n",
    b"set r100 0 2 1\r\n1\r\nreplace r100 0 100 1\r\n1\r\n",
    b"set p1 0 2 1\r\n1\r\nappend p1 0 100 1\r\n1\r\n",
    b"set p0 0 0 1\r\n1\r\nprepend p0 0 2 1\r\n1\r\n",
    b"set i1 0 2 1\r\n1\r\nincr i1 1\r\n",
    b"set i9 0 2 1\r\n9\r\nincr i9 1\r\n",
    b"set t1 0 0 1\r\n1\r\ntouch t1 2\r\n",
    b"set t100 0 2 1\r\n1\r\ntouch t100 100\r\n",
    b"set t0 0 2 1\r\n1\r\ntouch t0 0\r\n",
    b"set g1 0 0 1\r\n1\r\ngat 2 g1\r\n",
    b"set g100 0 2 1\r\n1\r\ngats 100 g100\r\n",
    b"ms m1 1 T2\r\n1\r\n",
    b"ms m100 1 T100\r\n1\r\n",
    b"ms m0 1\r\n1\r\n",
    b"ms u1 1\r\n1\r\nmg u1 T2\r\n",
    b"ms u100 1 T2\r\n1\r\nmg u100 T100\r\n",
    b"mg v1 N2 v\r\n",
    b"mg v100 N100 v\r\n",
    b"ma n1 N2 J5\r\n",
    b"ma n0 N0 J5\r\n",
    b"ms d1 1\r\n1\r\nmd d1 I T2\r\n",
    b"ms d100 1 T2\r\n1\r\nmd d100 I T100\r\n",
    b"ms d0 1 T2\r\n1\r\nmd d0 I\r\n",
]
STAYS = re.compile(rb"s0|p0|t0|m0|n0|.*100")


def keys_of(requests):
    return [re.match(rb"\S+ (\S+)", request).group(1) for request in requests]


def wait_until_gone(server, keys):
    end = time.monotonic() + PATIENCE_S
    while server.ask(b"get " + keys + b"\r\n") != b"END\r\n":
        check(time.monotonic() < end, keys, "do not all end")
        time.sleep(0.1)


def check_ending(servers):
    numbers = ({}, {})

    def check_same(request):
        replies = [normalise(server.ask(request), numbers[i]) for i, server in enumerate(servers)]
        check_equal(replies[1], replies[0], f"{request!r:.200} beside memcached")

    def wait_for_both(keys):
        for server in servers:
            wait_until_gone(server, keys)

    keys = keys_of(ENDING)
    check_same(b"flush_all\r\n" + b"".join(ENDING))
    wait_for_both(b" ".join(key for key in keys if not STAYS.fullmatch(key)))
    check_same(b"get " + b" ".join(keys) + b"\r\n")
    # What is there when the time comes goes, when it was stored after the command too.
    check_same(b"flush_all\r\nset f1 0 0 1\r\n1\r\nflush_all 3\r\nset f2 0 0 1\r\n1\r\nget f1 f2\r\n")
    wait_for_both(b"f1 f2")
    check_same(b"set f3 0 0 1\r\n1\r\nget f3\r\n")
    # A later command takes the place of one to come: nothing to wait for, but time.
    check_same(b"flush_all 3\r\nflush_all 1000\r\nset f4 0 0 1\r\n1\r\n")
    time.sleep(4.2)
    check_same(b"get f4\r\nflush_all\r\nget f4\r\n")


# ---- what stats tell ----

# Names that memcached has and numastore has not: what they count is not there, or not counted.
NOT_TOLD = re.compile(
    r"libevent|connection_structures|reserved_fds|read_buf_|response_obj_|time_in_listen_disabled_us|hash_|slab|log_"
    r"|lru|crawler_|malloc_fails|expired_unfetched|evicted_active|reclaimed|moves_|direct_reclaims"
    r"|round_robin_fallback|unexpected_napi_ids"
)
NOT_TOLD_SETTINGS = re.compile(
    r"verbosity|oldest|growth_factor|chunk_size|num_threads_per_udp|stat_key_prefix|detail_enabled|tcp_backlog|maxconns_fast"
    r"|hash|slab_|lru_|hot_|warm_|temp|tail_repair_time|watcher_logbuf|worker_logbuf|read_buf_mem_limit|track_sizes"
    r"|inline_ascii_response|num_napi_ids|memory_file|ext_|ssl_"
)
# What monitors ask for.
TOLD = """pid uptime time version pointer_size rusage_user rusage_system max_connections curr_connections
    total_connections rejected_connections listen_disabled_num accepting_conns threads conn_yields bytes_read bytes_written
    cmd_get cmd_set cmd_flush cmd_touch cmd_meta get_hits get_misses get_expired get_flushed delete_hits delete_misses
    incr_hits incr_misses decr_hits decr_misses cas_hits cas_misses cas_badval touch_hits touch_misses auth_cmds auth_errors
    limit_maxbytes bytes curr_items total_items evictions evicted_unfetched store_too_large
    store_no_memory""".split()
TOLD_SETTINGS = """maxbytes maxconns tcpport udpport inter evictions domain_socket umask num_threads reqs_per_event
    cas_enabled auth_enabled_ascii item_size_max idle_timeout""".split()

# Commands that are counted alike.
COUNTED = b"""get k1|get none|set k1 0 0 1\r\n1|add k1 0 0 1\r\n1|replace k1 0 0 1\r\n1|append k1 0 0 1\r\n1|incr k1 1|incr none 1
    |decr k1 1|decr none 1|cas k1 0 0 1 1\r\n1|cas none 0 0 1 1\r\n1|touch k1 0|touch none 0|delete k1|delete none
    |set k2 0 0 1\r\nx|gets k2 k1|set k3 0 -1 1\r\n1|get k3|flush_all|get k2|mg k1 v|ms k1 1\r\n1|mg k1 v|ma k1|md k1"""
ARE_COUNTED = re.compile("cmd_(get|set|flush|touch)|get_|delete_|incr_|decr_|cas_|touch_|curr_items|evictions")


def check_stats(servers):
    kinds = (("", NOT_TOLD, TOLD), ("settings", NOT_TOLD_SETTINGS, TOLD_SETTINGS))
    for kind, not_told, told in kinds:
        theirs, ours = (server.stats(kind) for server in servers)
        for name in theirs:
            check(name in ours or not_told.match(name), "stats", kind, name, "is not told, and no reason is known")
        for name in told:
            check(name in ours, "stats", kind, name, "is not told")
    requests = [request.strip() + b"\r\n" for request in COUNTED.split(b"|")]
    for server in servers:
        check_equal(server.ask(b"stats reset\r\n"), b"RESET\r\n", "stats reset")
        for request in requests:
            server.send(request)
        server.ask(b"mn\r\n", b"MN\r\n")
    theirs, ours = (server.stats() for server in servers)
    for name in filter(ARE_COUNTED.match, theirs):
        check_equal(ours.get(name), theirs[name], f"stats, {name}, beside memcached")


# ---- all of it ----


def run_between(addresses, options):
    try:
        servers = [Server(address) for address in addresses]
    except (OSError, ValueError) as error:
        print(f"memcache_differential: {error}", file=sys.stderr)
        return 2
    return 0 if all(compare(servers, seed, options) for seed in options.seed) else 1


def check_version(port):
    with Connection(port) as connection:
        version = connection.stats()["version"]
    if version != PEER_VERSION:
        raise Skipped(f"this is memcached {version}: its differences from {PEER_VERSION} are not known here")


def run_started(options):
    with Memcached("-m", "512", "-I", "1m") as peer, Numastore("-I", "1m", memory="256M") as ours:
        check_version(peer.port)
        addresses = [f"127.0.0.1:{server.port}" for server in (peer, ours)]
        with Connection(peer.port) as first, Connection(ours.port) as second:
            check_stats([first, second])
        check_ending([Server(address) for address in addresses])
        check(run_between(addresses, options) == 0, "there are differences")


def seeds(text):
    return [int(seed) for seed in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=seeds, default=[random.SystemRandom().randrange(1 << 32)], metavar="N,N...")
    parser.add_argument("--rounds", type=int, default=200, help="for each seed")
    parser.add_argument("--commands", type=int, default=60, help="a round")
    parser.add_argument("--large", action="store_true", help="values around 1 MiB too")
    parser.add_argument("servers", nargs="*", metavar="HOST:PORT", help="memcached, numastore; else they are started")
    options = parser.parse_args()
    if len(options.servers) not in (0, 2):
        parser.error("two servers, or none")
    if options.servers:
        return run_between(options.servers, options)
    return main_of(lambda: run_started(options))


if __name__ == "__main__":
    sys.exit(main())
