#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends the same random commands to two memcache servers and compares the replies.

    memcache_differential.py [--seed N] [--rounds N] [--commands N] HOST:PORT HOST:PORT

The first is the peer (memcached 1.6.18), the second numastore. A round is a flush_all and a row of commands in
one write to each. Exit status: 0 equal, 1 a difference (the shortest row of commands that shows it is printed,
with the seed), 2 usage, or a server cannot be reached.

Replies are compared byte by byte, but for what may lawfully differ (all of it is in NORMALISED or never sent):

  - CAS numbers: each server has its own. They are replaced by the order in which they first appear in the round;
    a command that needs one takes it from that server's own last reply for the key.
  - me: la=, cls= and size= tell of the server's inside; exp= is the time that is left, which 1.6.18 shows as a
    negative number.
  - version, stats: texts of their own (not sent).
  - Numbers with a sign "+", values of incr with blanks in front or other white space behind, control bytes in keys, lengths and flags that do
    not fit: refused by numastore, taken by 1.6.18 (not sent).
  - A value that is refused for what its line says, and one that is longer than said: numastore swallows it
    to its end, 1.6.18 takes what is left for commands (not sent).
  - get with a key that is none: 1.6.18 forgets the answers that are still queued before it (not sent).
  - incr and decr of an empty value, or one of white space alone: 1.6.18 reads on behind it, in whatever was in that
    memory before (only other values are counted with). For a sign it looks there too, when the number is
    2^63 or more (no value has a "-").
  - A number that becomes shorter keeps its length, but not in 1.6.18 while something else holds the value: an answer that
    waits to be sent, a thread that tidies up (blanks behind a number and its length are not compared).
  - touch makes a value one that was read in 1.6.18, and an incr by which it grows one that was not, as h of mg and
    fetch= of me tell (not asked for where these are sent).
  - A stale value, or one whose winner is chosen, that is incremented stays so; in 1.6.18 only when it grows no longer
    (I and R are not sent for what is counted with).
  - gat without a key: ERROR, not END (not sent).
  - Meta flags that 1.6.18 has not: E, md's x, N with ms in append mode; an opaque of 32 bytes (not sent).
  - mg with k and b: 1.6.18 answers a hit on a key that was not stored with b by its raw bytes, and after an
    append too (b is sent only with keys that were, and they are not appended to).
  - mg with t and a T that is past: 0 here, a number that wrapped there (T is never negative).
  - mg with N that is past: EN here, an empty value there (N is never negative).
  - mg and ma with t before N: -1 there when the value is made (N is sent first).
  - ma with a C that is not the key's, where the value is no number: EX here (only the right C is sent).
  - ma with T: 1.6.18 gives the time to what was there before, when the number has grown, and does not know T0 (not sent).
  - ma with N and q: 1.6.18 answers HD when it makes the number (N is not sent with q).
  - flush_all with a time that is past: everything goes here, nothing there (only without, and with 0).
  - mg with l: the seconds since the object was stored, when it was never read (not sent).
"""

import argparse
import base64
import random
import re
import socket
import sys

KEYS = [b"k%d" % i for i in range(12)] + [b"a" * 250]
COUNTERS = KEYS[:6]  # only these are incremented; they are never empty, nor appended to
READ = KEYS[6:9]  # only these are asked whether they were read
TOUCHED = KEYS[9:]  # only these are touched
BINARY_KEYS = [bytes([i, 0, 32, 127, 255]) for i in range(3)]
NUMBERS = [b"0", b"1", b"9", b"10", b"99", b"18446744073709551615", b"12345 ", b"x", b"1x"]
TIMES = [0, 0, 0, 100, 2592000, -1]


class Server:
    """One connection."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.asked = 0
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request):
        """What is answered up to a miss with an opaque of its own, which is asked for behind it."""
        self.asked += 1
        self.socket.sendall(request + b"mg missing Oend%d\r\n" % self.asked)
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
    return b"v" * random_.choice([1, 100, 1000, 20000])


def noreply(random_):
    return b" noreply" if random_.random() < 0.15 else b""


def storage(random_, verb, key):
    if verb in (b"append", b"prepend"):
        key = random_.choice(KEYS[6:])
    data = value(random_, key)
    flags = random_.choice([0, 1, 65535, 4294967295])
    line = b"%s %s %d %d %d" % (verb, key, flags, random_.choice(TIMES), len(data))
    return [line + noreply(random_) + b"\r\n" + data + b"\r\n"]


def compare_and_set(random_, key):
    data = value(random_, key)
    line = b"cas %s 1 0 %d " % (key, len(data))
    number = ("cas", key) if random_.random() < 0.7 else b"999999999"
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
        return [random_.choice([b" C999999999", b" C1"])]
    return [b" C", ("cas", key)]


def meta_set(random_, key, binary):
    mode = random_.choice([b"ME", b"MA", b"MP", b"MR", b"MS", b"MZ", b"MSET"])
    if (key in COUNTERS or binary) and mode in (b"MA", b"MP"):
        mode = b"MS"
    data = value(random_, key)
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


def first_difference(servers, row, one_by_one):
    """None, or (what was sent, the two replies). In one piece there is no asking for CAS numbers in between."""
    numbers = ({}, {})
    for server in servers:
        server.ask(b"flush_all\r\n")
    if not one_by_one:
        row = [pieces for pieces in row if all(map(is_bytes, pieces))]
        request = b"".join(piece for pieces in row for piece in pieces)
        replies = [normalise(server.ask(request), numbers[i]) for i, server in enumerate(servers)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--commands", type=int, default=60, help="a round")
    parser.add_argument("peer", metavar="HOST:PORT")
    parser.add_argument("ours", metavar="HOST:PORT")
    options = parser.parse_args()

    try:
        servers = [Server(options.peer), Server(options.ours)]
    except (OSError, ValueError) as error:
        print(f"memcache_differential: {error}", file=sys.stderr)
        return 2
    random_ = random.Random(options.seed)
    for number in range(options.rounds):
        row = [command(random_) for _ in range(options.commands)]
        one_by_one = number % 2 == 0
        found = first_difference(servers, row, one_by_one)
        if not found:
            continue
        row = shortest(servers, row)
        sent, replies = first_difference(servers, row, True) or found
        print(f"seed {options.seed}, round {number}: replies differ")
        for pieces in row:
            print("   ", pieces)
        print(f"sent  {sent!r:.400}\npeer  {replies[0]!r:.400}\nours  {replies[1]!r:.400}")
        return 1
    print(f"seed {options.seed}: {options.rounds} rounds of {options.commands} commands, equal replies")
    return 0


if __name__ == "__main__":
    sys.exit(main())
