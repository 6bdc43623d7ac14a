#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What numastore answers to what is no request, is one too many, or stops in the middle: memcache's port.

    memcache_refusals.py table|numbers|quiet|meta|limits|memory|auth|peers

Each request of the table is sent at once, byte by byte, in random pieces and behind a good command in one packet; the
answer must be that one alone, and the connection in step behind it (what is asked next is answered next) or closed, as the table
says. NUMASTORE names the program; in the end it must exit with 0, which with a sanitizer means that nothing was
found and nothing is lost. Status: 0, 1 failed, 77 cannot run here.
"""

import base64
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

from memcache_servers import PATIENCE_S, Connection, Numastore, check, check_equal, eventually, main_of, program_of

FORMAT = b"CLIENT_ERROR bad command line format\r\n"
EXPTIME = b"CLIENT_ERROR invalid exptime argument\r\n"
DELTA = b"CLIENT_ERROR invalid numeric delta argument\r\n"
CHUNK = b"CLIENT_ERROR bad data chunk\r\n"
TEXT = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
USAGE = b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
TOKEN = b"CLIENT_ERROR bad token in command line format\r\n"
ANY_FLAG = b"CLIENT_ERROR invalid or duplicate flag\r\n"
FLAG = b"CLIENT_ERROR invalid flag\r\n"
TWICE = b"CLIENT_ERROR duplicate flag\r\n"
BASE64 = b"CLIENT_ERROR error decoding key\r\n"
LARGE = b"SERVER_ERROR object too large for cache\r\n"
FULL = b"SERVER_ERROR out of memory storing object\r\n"
LONG = b"CLIENT_ERROR line too long\r\n"
ERROR = b"ERROR\r\n"
STORED = b"STORED\r\n"
END = b"END\r\n"

LONG_KEY = b"k" * 251
ITEM_MAX = 1 << 20
LINE_MAX = 8192
CLOSED = "closed"

# Before each: k is "1", t is "text", and nothing else is there.
SET_UP = b"flush_all\r\nset k 0 0 1\r\n1\r\nset t 0 0 4\r\ntext\r\n"
SET_UP_ANSWER = b"OK\r\nSTORED\r\nSTORED\r\n"
K = b"VALUE k 0 1\r\n1\r\nEND\r\n"

# Asked behind it all.
NEXT = b"mg nothing Onext\r\n"
NEXT_ANSWER = b"EN Onext\r\n"


def put(line, value=b"1"):
    return line + b"\r\n" + value + b"\r\n"


# (what, request, answer[, CLOSED])
TABLE = [
    # Keys.
    ("a key too long to store", put(b"set %s 0 0 7" % LONG_KEY, b"version"), FORMAT),
    ("a key too long to fetch", b"get %s\r\n" % LONG_KEY, FORMAT),
    ("a key too long behind one that is not", b"get k %s\r\n" % LONG_KEY, FORMAT),
    ("a key as long as may be", put(b"set %s 0 0 1" % (b"k" * 250)), STORED),
    ("NUL in a key to fetch", b"get k\0b\r\n", FORMAT),
    ("NUL in a key to store", put(b"set k\0b 0 0 1"), FORMAT),
    ("a control byte in a key", put(b"set k\x01 0 0 1"), FORMAT),
    ("the last control byte in a key", put(b"set k\x7f 0 0 1"), FORMAT),
    ("CR in a key to store", put(b"set k\rb 0 0 1"), FORMAT),
    ("CR in a key to fetch", b"get k\rVALUE x 0 0\r\n", FORMAT),
    ("escape in a key to fetch", b"get k\x1b[2J\r\n", FORMAT),
    ("bytes above 127 in a key", put(b"set \xc3\xa4 0 0 1"), STORED),
    # Lengths.
    ("a length below 0", b"set k 0 0 -1\r\n", FORMAT),
    ("a length of 2^31 - 1", b"set k 0 0 2147483647\r\n", FORMAT, CLOSED),
    ("a length of 2^31", b"set k 0 0 2147483648\r\n", FORMAT, CLOSED),
    ("a length of 2^32", b"set k 0 0 4294967296\r\n", FORMAT, CLOSED),
    ("a length of 2^32 + 1", put(b"set k 0 0 4294967297"), FORMAT, CLOSED),
    ("a length of 2^64", b"set k 0 0 18446744073709551616\r\n", FORMAT, CLOSED),
    ("a length of 2^64 + 1", b"set k 0 0 18446744073709551617\r\n", FORMAT, CLOSED),
    ("a length of many digits", b"set k 0 0 " + b"9" * 1000 + b"\r\n", FORMAT, CLOSED),
    ("a length with a letter", b"set k 0 0 5x\r\n", FORMAT),
    ("a length with a sign", b"set k 0 0 +5\r\n", FORMAT),
    ("a length of letters", b"set k 0 0 abc\r\n", FORMAT),
    ("no length", b"set k 0 0\r\n", ERROR),
    ("no length, and blanks", b"set k 0 0  \r\n", ERROR),
    # Flags and times; what goes with it is no command.
    ("flags below 0", put(b"set k -1 0 7", b"version"), FORMAT),
    ("flags of 2^32", put(b"set k 4294967296 0 7", b"version"), FORMAT),
    ("the largest flags", put(b"set k 4294967295 0 1") + b"get k\r\n", STORED + b"VALUE k 4294967295 1\r\n1\r\nEND\r\n"),
    ("flags of letters", put(b"set k x 0 7", b"version"), FORMAT),
    ("a time of letters", put(b"set k 0 x 7", b"version"), FORMAT),
    ("a time of 2^63", put(b"set k 0 9223372036854775808 7", b"version"), FORMAT),
    ("a time of 2^63 - 1", put(b"set k 0 9223372036854775807 1") + b"get k\r\n", STORED + K),
    ("a time that is past", put(b"set k 0 -1 1") + b"get k\r\n", STORED + END),
    ("a time long past", put(b"set k 0 -9223372036854775807 1") + b"get k\r\n", STORED + END),
    ("a time of 1970", put(b"set k 0 2592001 1") + b"get k\r\n", STORED + END),
    ("the longest time from now", put(b"set k 0 2592000 1") + b"get k\r\n", STORED + K),
    # Values.
    ("a value longer than said", b"set k 0 0 3\r\n123456\r\n", CHUNK),
    ("a value longer than said, and one like a command", b"set k 0 0 3\r\n123version\r\n" + b"get k\r\n", CHUNK + K),
    ("a value without its line end", b"set k 0 0 3\r\n123xx\n", CHUNK),
    ("a value that ends in LF alone", b"set k 0 0 3\r\n123\n", CHUNK),
    ("a value that ends in CR alone", b"set k 0 0 3\r\n123\rx\r\n", CHUNK),
    ("a value that ends in two CR", b"set k 0 0 3\r\n123\r\r\n", CHUNK),
    ("an empty value longer than said", b"set k 0 0 0\r\nx\r\n", CHUNK),
    ("an empty value", put(b"set k 0 0 0", b"") + b"get k\r\n", STORED + b"VALUE k 0 0\r\n\r\nEND\r\n"),
    ("a value of line ends", put(b"set k 0 0 6", b"\r\n\r\n\r\n"), STORED),
    ("a value too large", put(b"set k 0 0 %d" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)) + b"get k\r\n", LARGE + END),
    ("a value too large and wrong", b"set k 0 0 %d\r\n%s\r\n" % (ITEM_MAX + 1, b"x" * (ITEM_MAX + 9)), LARGE),
    ("add of one too large", put(b"add k 0 0 %d" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)) + b"get k\r\n", LARGE + K),
    ("append of one too large", put(b"append k 0 0 %d" % ITEM_MAX, b"x" * ITEM_MAX) + b"get k\r\n", LARGE + K),
    ("a long one that ends wrong", b"set k 0 0 600000\r\n%sxx\r\n" % (b"y" * 600000) + b"get k\r\n", CHUNK + K),
    ("a value that is as large as may be", put(b"set l 0 0 %d" % ITEM_MAX, b"x" * ITEM_MAX), STORED),
    # Lines.
    ("get without a key", b"get\r\n", ERROR),
    ("get of a blank", b"get \r\n", ERROR),
    ("gets without a key", b"gets\r\n", ERROR),
    ("an empty line", b"\r\n", ERROR),
    ("an empty line that ends in LF", b"\n", ERROR),
    ("a blank", b" \r\n", ERROR),
    ("many blanks", b" " * 3000 + b"\r\n", ERROR),
    ("lines that end in LF alone", b"get k\n", K),
    ("a value's line that ends in LF alone", b"set k 0 0 1\n1\r\n", STORED),
    ("capitals", b"GET k\r\n", ERROR),
    ("a tab", b"get\tk\r\n", ERROR),
    ("a tab between keys", b"get k\tt\r\n", FORMAT),
    ("blanks around words", b"  get   k  \r\n", K),
    ("a line that is too long", b"x" * (LINE_MAX + 1), LONG, CLOSED),
    ("a set that is too long", b"set " + b"k" * LINE_MAX, LONG, CLOSED),
    ("a long line of an unknown command", b"x" * 3000 + b"\r\n", ERROR),
    ("meta flags that are too long", b"mg k " + b"O" * LINE_MAX, LONG, CLOSED),
    ("a key that never ends", b"get k " + b"x" * 9000, K[:-5] + FORMAT, "rubbish"),
    ("keys beyond a line's length", b"get " + b"n " * 60000 + b"k\r\n", K),
    ("a key too long, beyond a line's length", b"get " + b"n " * 6000 + LONG_KEY + b" k\r\n", FORMAT),
    ("a control byte beyond a line's length", b"get " + b"n " * 6000 + b"\x01 k\r\n", FORMAT),
    ("get of 3000 keys", b"get " + b" ".join(b"n%d" % i for i in range(3000)) + b"\r\n", END),
    # Numbers.
    ("incr of text", b"incr t 1\r\n", TEXT),
    ("decr of text", b"decr t 1\r\n", TEXT),
    ("incr of an empty value", put(b"set k 0 0 0", b"") + b"incr k 1\r\n", STORED + TEXT),
    ("incr of a blank", put(b"set k 0 0 1", b" ") + b"incr k 1\r\n", STORED + TEXT),
    ("incr of a negative number", put(b"set k 0 0 2", b"-1") + b"incr k 1\r\n", STORED + TEXT),
    ("incr of 2^64", put(b"set k 0 0 20", b"18446744073709551616") + b"incr k 1\r\n", STORED + TEXT),
    ("incr past the end", put(b"set k 0 0 20", b"18446744073709551615") + b"incr k 1\r\n", STORED + b"0\r\n"),
    ("decr below 0", b"decr k 2\r\n", b"0\r\n"),
    ("decr keeps the length", put(b"set k 0 0 2", b"10") + b"decr k 1\r\nget k\r\n", STORED + b"9\r\nVALUE k 0 2\r\n9 \r\nEND\r\n"),
    ("incr grows", put(b"set k 0 0 1", b"9") + b"incr k 1\r\nget k\r\n", STORED + b"10\r\nVALUE k 0 2\r\n10\r\nEND\r\n"),
    ("incr by nothing", b"incr k\r\n", ERROR),
    ("incr of nothing", b"incr\r\n", ERROR),
    ("incr with too many words", b"incr k 1 2 3\r\n", ERROR),
    ("incr of what is not there", b"incr n 1\r\n", b"NOT_FOUND\r\n"),
    ("incr of a key too long", b"incr %s 1\r\n" % LONG_KEY, FORMAT),
    # delete, cas, touch, gat.
    ("delete without a key", b"delete\r\n", ERROR),
    ("delete with a time", b"delete k 5\r\n", USAGE),
    ("delete with 0", b"delete k 0\r\n", b"DELETED\r\n"),
    ("delete with a word", b"delete k x\r\n", USAGE),
    ("delete with two numbers", b"delete k 0 0\r\n", USAGE),
    ("delete with too many words", b"delete k 0 0 0\r\n", ERROR),
    ("delete of a key too long", b"delete %s\r\n" % LONG_KEY, FORMAT),
    ("delete of what is not there", b"delete n\r\n", b"NOT_FOUND\r\n"),
    ("cas by a word", put(b"cas k 0 0 7 x", b"version"), FORMAT),
    ("cas without a number", b"cas k 0 0 1\r\n", ERROR),
    ("cas of what is not there", put(b"cas n 0 0 1 1"), b"NOT_FOUND\r\n"),
    ("cas that is late", put(b"cas k 0 0 1 1"), b"EXISTS\r\n"),
    ("cas by 0", put(b"cas k 0 0 1 0"), b"EXISTS\r\n"),
    ("touch to a word", b"touch k x\r\n", EXPTIME),
    ("touch without a time", b"touch k\r\n", ERROR),
    ("touch of a key too long", b"touch %s 0\r\n" % LONG_KEY, FORMAT),
    ("touch of what is not there", b"touch n 0\r\n", b"NOT_FOUND\r\n"),
    ("touch to a time that is past", b"touch k -1\r\nget k\r\n", b"TOUCHED\r\n" + END),
    ("gat to a word", b"gat x k\r\n", EXPTIME),
    ("gat without a key", b"gat 0\r\n", ERROR),
    ("gat of nothing at all", b"gat\r\n", ERROR),
    ("gats without a key", b"gats 0\r\n", ERROR),
    ("gat to a time that is past", b"gat -1 k k\r\n", K),
    ("gat of a key too long", b"gat 0 k %s\r\n" % LONG_KEY, FORMAT),
    ("append to what is not there", put(b"append n 0 0 1"), b"NOT_STORED\r\n"),
    ("prepend to what is not there", put(b"prepend n 0 0 1"), b"NOT_STORED\r\n"),
    ("replace of what is not there", put(b"replace n 0 0 1"), b"NOT_STORED\r\n"),
    ("add of what is there", put(b"add k 0 0 1"), b"NOT_STORED\r\n"),
    ("append that ends wrong", b"append k 0 0 1\r\n1234\r\nget k\r\n", CHUNK + K),
    ("set with too few words", b"set k\r\n", ERROR),
    ("set with too many words", b"set k 0 0 1 2 3\r\n", ERROR),
    # The server.
    ("verbosity without a level", b"verbosity\r\n", ERROR),
    ("verbosity of a word", b"verbosity x\r\n", FORMAT),
    ("verbosity with too many words", b"verbosity 1 2 3\r\n", ERROR),
    ("verbosity", b"verbosity 2\r\n", b"OK\r\n"),
    ("flush_all by a word", b"flush_all x\r\n", EXPTIME),
    ("flush_all with too many words", b"flush_all 1 2 3\r\n", ERROR),
    ("flush_all with a time that is past", b"flush_all -1\r\nget k\r\n", b"OK\r\n" + END),
    ("flush_all to come", b"flush_all 1000\r\nget k\r\n", b"OK\r\n" + K),
    ("shutdown", b"shutdown\r\n", b"ERROR: shutdown not enabled\r\n"),
    ("shutdown graceful", b"shutdown graceful\r\n", b"ERROR: shutdown not enabled\r\n"),
    ("no memory at all", b"cache_memlimit 0\r\n", b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n"),
    ("another memory", b"cache_memlimit 100\r\n", b"MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n"),
    ("memory by a word", b"cache_memlimit x\r\n", ERROR),
    ("memory without a number", b"cache_memlimit\r\n", ERROR),
    ("stats of something else", b"stats zzz\r\n", ERROR),
    ("stats detail", b"stats detail on\r\n", ERROR),
    ("stats cachedump", b"stats cachedump 1 1\r\n", ERROR),
    ("stats sizes", b"stats sizes\r\n", b"STAT sizes_status disabled\r\nEND\r\n"),
    ("stats reset", b"stats reset\r\n", b"RESET\r\n"),
    ("stats with a control byte", b"stats \x01\r\n", FORMAT),
    ("lru", b"lru mode\r\n", ERROR),
    ("lru tune", b"lru tune 10 25 0.1 2.0\r\n", ERROR),
    ("lru_crawler", b"lru_crawler metadump all\r\n", ERROR),
    ("watch", b"watch\r\n", ERROR),
    ("slabs", b"slabs reassign 1 2\r\n", ERROR),
    ("debugtime", b"debugtime 1\r\n", ERROR),
    ("misbehave", b"misbehave\r\n", ERROR),
    ("place without a rule", b"place\r\n", ERROR),
    ("place of a word", b"place x\r\n", b"CLIENT_ERROR usage: place PREFIX=local|far|node:N ... or place none\r\n"),
    ("place on no node", b"place x=node:\r\n", b"CLIENT_ERROR usage: place PREFIX=local|far|node:N ... or place none\r\n"),
    ("too many places", b"place " + b" ".join(b"p%d=local" % i for i in range(129)) + b"\r\n", b"CLIENT_ERROR at most 128 rules of placing\r\n"),
    ("no places", b"place none\r\n", b"OK\r\n"),
    ("quit", b"quit\r\nversion\r\n", b"", CLOSED),
    # What is not memcache.
    ("HTTP GET", b"GET / HTTP/1.0\r\n\r\n", b"", CLOSED),
    ("HTTP POST of commands", b"POST / HTTP/1.1\r\nHost: a\r\n\r\nset k 0 0 1\r\n2\r\n", b"", CLOSED),
    ("HTTP PUT", b"PUT /k HTTP/1.1\r\n\r\n", b"", CLOSED),
    ("HTTP DELETE", b"DELETE /k HTTP/1.1\r\n\r\n", b"", CLOSED),
    ("the binary protocol", b"\x80\x00\x00\x01" + b"\x00" * 20, b"", CLOSED),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\n", ERROR),
    # Meta commands.
    ("mg without a key", b"mg\r\n", ERROR),
    ("ms without a key", b"ms\r\n", ERROR),
    ("md without a key", b"md\r\n", ERROR),
    ("ma without a key", b"ma\r\n", ERROR),
    ("me without a key", b"me\r\n", FORMAT),
    ("mg of a key too long", b"mg %s v\r\n" % LONG_KEY, FORMAT),
    ("ms of a key too long", put(b"ms %s 7" % LONG_KEY, b"version"), FORMAT),
    ("md of a key too long", b"md %s\r\n" % LONG_KEY, FORMAT),
    ("ma of a key too long", b"ma %s\r\n" % LONG_KEY, FORMAT),
    ("me of a key too long", b"me %s\r\n" % LONG_KEY, FORMAT),
    ("mg with a flag twice", b"mg k s s\r\n", TWICE),
    ("ms with a flag twice", put(b"ms k 7 c c", b"version"), TWICE),
    ("md with a flag twice", b"md k q q\r\n", ANY_FLAG),
    ("ma with a flag twice", b"ma k v v\r\n", ANY_FLAG),
    ("mg with a flag that is none", b"mg k !\r\n", FLAG),
    ("mg with a letter that is none", b"mg k a\r\n", FLAG),
    ("mg with a byte above 127", b"mg k \xff\r\n", FLAG),
    ("ms with a flag that is none", put(b"ms k 7 !", b"version"), FLAG),
    ("md with a flag that is none", b"md k !\r\n", ANY_FLAG),
    ("ma with a flag that is none", b"ma k !\r\n", ANY_FLAG),
    ("too many flags", b"mg k" + b" s" * 21 + b"\r\n", b"CLIENT_ERROR options flags are too long\r\n"),
    ("too many flags for ms", put(b"ms k 7" + b" s" * 21, b"version"), b"CLIENT_ERROR options flags are too long\r\n"),
    ("an opaque too long", b"mg k O" + b"o" * 33 + b"\r\n", b"CLIENT_ERROR opaque token too long\r\n"),
    ("an opaque too long for ms", put(b"ms k 7 O" + b"o" * 33, b"version"), b"CLIENT_ERROR opaque token too long\r\n"),
    ("an opaque too long for md", b"md k O" + b"o" * 33 + b"\r\n", b"CLIENT_ERROR opaque token too long\r\n"),
    ("an opaque as long as may be", b"mg k O" + b"o" * 32 + b"\r\n", b"HD O" + b"o" * 32 + b"\r\n"),
    ("an empty opaque", b"mg k O\r\n", b"HD O\r\n"),
    ("an opaque with a control byte", b"mg k O\x01\r\n", FORMAT),
    ("bad base64", b"mg === b\r\n", BASE64),
    ("base64 cut short", b"mg YQ b\r\n", BASE64),
    ("base64 with bits too many", b"mg YR== b\r\n", BASE64),
    ("base64 with a blank byte", b"mg Y-== b\r\n", BASE64),
    ("bad base64 for ms", put(b"ms === 7 b", b"version"), BASE64),
    ("bad base64 for md", b"md === b\r\n", ANY_FLAG),
    ("bad base64 for ma", b"ma === b\r\n", ANY_FLAG),
    ("bad base64 for me", b"me === b\r\n", BASE64),
    ("a base64 key that is long", b"mg %s b k\r\n" % base64.b64encode(b"\0" * 186), b"EN k%s b\r\n" % base64.b64encode(b"\0" * 186)),
    ("ms without a length", b"ms k\r\n", FORMAT),
    ("ms with a flag for a length", b"ms k T0\r\n", FORMAT),
    ("ms with a length below 0", b"ms k -1\r\n", FORMAT),
    ("ms with a length of 2^32", b"ms k 4294967296\r\n", FORMAT, CLOSED),
    ("ms with a mode that is none", put(b"ms k 7 MX", b"version"), b"CLIENT_ERROR invalid mode for ms M token\r\n"),
    ("ms with an empty mode", put(b"ms k 7 M", b"version"), b"CLIENT_ERROR incorrect length for M token\r\n"),
    ("ms with a long mode", put(b"ms k 7 MSET", b"version"), b"CLIENT_ERROR incorrect length for M token\r\n"),
    ("ma with a mode that is none", b"ma k MX\r\n", b"CLIENT_ERROR invalid mode for ma M token\r\n"),
    ("ma with a long mode", b"ma k MIN\r\n", ANY_FLAG),
    ("ms of one too large", put(b"ms k %d" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)) + b"mg k v\r\n", LARGE + b"EN\r\n"),
    ("ms of one too large with q", put(b"ms k %d q" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)), LARGE),
    ("ms that ends wrong", b"ms k 1\r\n123\r\nmg k v\r\n", CHUNK + b"VA 1\r\n1\r\n"),
    ("ms with q that ends wrong", b"ms k 1 q\r\n123\r\n", CHUNK),
    ("ma of text", b"ma t\r\n", TEXT),
    ("ma of text with q", b"ma t q\r\n", TEXT),
    ("md by 0", b"md k C0\r\nmg k v\r\n", b"EX\r\nVA 1\r\n1\r\n"),
    ("md by 0 of what is not there", b"md n C0\r\n", b"NF\r\n"),
    ("mn with words", b"mn k v\r\n", b"MN\r\n"),
]

NUMBERS = [b"0", b"1", b"-1", b"x", b"1x", b"+1", b"0x10", b"1.5", b"-", b"--1", b"1-", b"4294967295", b"4294967296"]
NUMBERS += [b"2147483648", b"-2147483649", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808"]
NUMBERS += [b"18446744073709551615", b"18446744073709551616", b"-18446744073709551616", b"9" * 250, b"-" + b"9" * 250]
NUMBERS += [b"0" * 200, b"\xd9\xa1", b"1e3", b"inf", b"nan"]

U32, U64, SECONDS = "u32", "u64", "seconds"

# (request, of what kind, the answer if it is one, the answer if not)
FIELDS = [
    (b"set k %s 0 1\r\n1\r\n", U32, STORED, FORMAT),
    (b"set k 0 %s 1\r\n1\r\n", SECONDS, STORED, FORMAT),
    (b"add n %s 0 1\r\n1\r\n", U32, STORED, FORMAT),
    (b"replace k 0 %s 1\r\n1\r\n", SECONDS, STORED, FORMAT),
    (b"append k %s 0 1\r\n1\r\n", U32, STORED, FORMAT),
    (b"prepend k 0 %s 1\r\n1\r\n", SECONDS, STORED, FORMAT),
    (b"cas k %s 0 1 1\r\n1\r\n", U32, b"EXISTS\r\n", FORMAT),
    (b"cas k 0 %s 1 1\r\n1\r\n", SECONDS, b"EXISTS\r\n", FORMAT),
    (b"cas k 0 0 1 %s\r\n1\r\n", U64, b"EXISTS\r\n", FORMAT),
    (b"incr n %s\r\n", U64, b"NOT_FOUND\r\n", DELTA),
    (b"decr n %s\r\n", U64, b"NOT_FOUND\r\n", DELTA),
    (b"touch n %s\r\n", SECONDS, b"NOT_FOUND\r\n", EXPTIME),
    (b"gat %s n\r\n", SECONDS, END, EXPTIME),
    (b"gats %s n\r\n", SECONDS, END, EXPTIME),
    (b"flush_all %s\r\n", SECONDS, b"OK\r\n", EXPTIME),
    (b"verbosity %s\r\n", U32, b"OK\r\n", FORMAT),
    (b"mg n T%s\r\n", SECONDS, b"EN\r\n", TOKEN),
    (b"mg n R%s\r\n", SECONDS, b"EN\r\n", TOKEN),
    (b"mg k N%s\r\n", SECONDS, b"HD\r\n", TOKEN),
    (b"ms k 1 F%s\r\n1\r\n", U32, b"HD\r\n", FORMAT),
    (b"ms k 1 T%s\r\n1\r\n", SECONDS, b"HD\r\n", TOKEN),
    (b"ms k 1 C%s\r\n1\r\n", U64, b"EX\r\n", TOKEN),
    (b"ms k 1 E%s\r\n1\r\n", U64, b"HD\r\n", TOKEN),
    (b"md n C%s\r\n", U64, b"NF\r\n", ANY_FLAG),
    (b"md n T%s\r\n", SECONDS, b"NF\r\n", ANY_FLAG),
    (b"md n E%s\r\n", U64, b"NF\r\n", ANY_FLAG),
    (b"ma n D%s\r\n", U64, b"NF\r\n", ANY_FLAG),
    (b"ma n J%s\r\n", U64, b"NF\r\n", ANY_FLAG),
    (b"ma n C%s\r\n", U64, b"NF\r\n", ANY_FLAG),
    (b"ma n T%s\r\n", SECONDS, b"NF\r\n", ANY_FLAG),
    (b"ma k N%s q\r\n", SECONDS, b"", ANY_FLAG),
]

# Nothing is answered to these.
QUIET = [
    put(b"set k 0 0 1 noreply"),
    put(b"set k 0 0 2 noreply"),  # longer than said
    put(b"set k x 0 1 noreply"),
    b"set k 0 0 x noreply\r\n",
    b"set k 0 0 noreply\r\n",
    put(b"set %s 0 0 1 noreply" % LONG_KEY),
    put(b"set k 0 0 %d noreply" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)),
    put(b"add k 0 0 1 noreply"),
    put(b"replace n 0 0 1 noreply"),
    put(b"append n 0 0 1 noreply"),
    put(b"prepend k 0 0 1 noreply"),
    put(b"append k 0 0 %d noreply" % (ITEM_MAX + 1), b"x" * (ITEM_MAX + 1)),
    put(b"cas k 0 0 1 1 noreply"),
    put(b"cas n 0 0 1 1 noreply"),
    put(b"cas k 0 0 1 x noreply"),
    b"incr k 1 noreply\r\n",
    b"incr t 1 noreply\r\n",
    b"incr k x noreply\r\n",
    b"incr k noreply\r\n",
    b"decr n 1 noreply\r\n",
    b"delete k noreply\r\n",
    b"delete n 0 noreply\r\n",
    b"delete k 5 noreply\r\n",
    b"touch k 0 noreply\r\n",
    b"touch n 0 noreply\r\n",
    b"touch k x noreply\r\n",
    b"touch k noreply\r\n",
    b"flush_all noreply\r\n",
    b"flush_all 100 noreply\r\n",
    b"flush_all x noreply\r\n",
    b"verbosity 1 noreply\r\n",
    b"verbosity noreply\r\n",
    b"cache_memlimit 100 noreply\r\n",
    b"mg n q\r\n",
    b"mg n v q k O1\r\n",
    put(b"ms k 1 q"),
    b"md k q\r\n",
    b"ma k q\r\n",
]


# ---- ways to send it ----


def at_once(connection, request):
    connection.send(request)


def bytewise(connection, request):
    connection.send_bytewise(request)


def in_pieces(connection, request):
    random_ = random.Random(len(request))
    at = 0
    while at < len(request):
        size = random_.choice([1, 2, 7, 100, 5000, 70000])
        connection.send(request[at : at + size])
        at += size


def behind_others(connection, request):
    connection.send(put(b"set other 0 0 5", b"other") + b"get other\r\n" + request)


BEFORE = {behind_others: STORED + b"VALUE other 0 5\r\nother\r\nEND\r\n"}
WAYS = [at_once, bytewise, in_pieces, behind_others]


def set_up(connection):
    connection.send(SET_UP)
    check_equal(connection.read_exactly(len(SET_UP_ANSWER)), SET_UP_ANSWER, "what every case begins with")


def check_in_step(connection, way, what, request, answer):
    set_up(connection)
    way(connection, request + NEXT)
    expected = BEFORE.get(way, b"") + answer + NEXT_ANSWER
    found = connection.read_until(NEXT_ANSWER)
    check_equal(found, expected, f"{what} ({way.__name__}), {request!r:.100}")


def check_closed(port, way, what, request, answer):
    with Connection(port) as connection:
        set_up(connection)
        try:
            way(connection, request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it closes before the last byte
        expected = BEFORE.get(way, b"") + answer
        check_equal(connection.read_all(), expected, f"{what} ({way.__name__}), {request!r:.100}")


def check_rubbish(port, way, what, request, answer):
    """What follows is thrown away up to the next line end."""
    with Connection(port) as connection:
        set_up(connection)
        way(connection, request + b" get k\r\nmn\r\n")
        expected = BEFORE.get(way, b"") + answer + b"MN\r\n"
        check_equal(connection.read_until(b"MN\r\n"), expected, f"{what} ({way.__name__})")


def table():
    with Numastore("-I", "1m") as server, Connection(server.port) as connection:
        for what, request, answer, *then in TABLE:
            for way in WAYS:
                if way is bytewise and len(request) > 10000:
                    continue
                if then == [CLOSED]:
                    check_closed(server.port, way, what, request, answer)
                elif then:
                    check_rubbish(server.port, way, what, request, answer)
                else:
                    check_in_step(connection, way, what, request, answer)
        # And now nothing of it is left over.
        check_equal(connection.ask(SET_UP + b"get other k\r\n", END), SET_UP_ANSWER + K, "in the end")


def is_number(text, kind):
    if kind is SECONDS:
        return re.fullmatch(rb"-?[0-9]+", text) is not None and abs(int(text)) < 1 << 63
    return re.fullmatch(rb"[0-9]+", text) is not None and int(text) < 1 << (32 if kind is U32 else 64)


def numbers():
    with Numastore() as server, Connection(server.port) as connection:
        for field, kind, right, wrong in FIELDS:
            for number in NUMBERS:
                answer = right if is_number(number, kind) else wrong
                for way in (at_once, bytewise, behind_others):
                    check_in_step(connection, way, f"{number[:30]!r} as {kind}", field % number, answer)


def quiet():
    with Numastore("-I", "1m") as server, Connection(server.port) as connection:
        for request in QUIET:
            for way in (at_once, in_pieces, behind_others):
                check_in_step(connection, way, "no answer", request, b"")
        # The same in one go, answers of others in between in their order.
        set_up(connection)
        request = b"".join(put(b"set k 0 0 1 noreply") + one + b"mg n O%d\r\n" % i for i, one in enumerate(QUIET))
        answer = b"".join(b"EN O%d\r\n" % i for i in range(len(QUIET)))
        connection.send(request)
        check_equal(connection.read_exactly(len(answer)), answer, "answers in between")


# ---- what meta commands do: rows of requests and what their answers look like ----

NUMBER = rb"\d+"


def like(text):
    """A pattern for an answer: '#' is a number, all else is itself."""
    return re.escape(text).replace(rb"\#", NUMBER)


META = [
    (
        "stale, won, waited for, filled",
        [
            (put(b"ms a 1 T300 F7"), b"HD\r\n"),
            (b"md a I T30\r\n", b"HD\r\n"),
            (b"mg a v f t\r\n", b"VA 1 f7 t30 X W\r\n1\r\n"),
            (b"mg a v f\r\n", b"VA 1 f7 Z X\r\n1\r\n"),
            (put(b"ms a 1", b"2"), b"HD\r\n"),
            (b"mg a v\r\n", b"VA 1\r\n2\r\n"),
        ],
    ),
    (
        "made by the first who misses it",
        [
            (b"mg b v N30 t\r\n", b"VA 0 t30 W\r\n\r\n"),
            (b"mg b v N30\r\n", b"VA 0 Z\r\n\r\n"),
            (b"get b\r\n", b"VALUE b 0 0\r\n\r\nEND\r\n"),
            (put(b"add b 0 0 1"), b"NOT_STORED\r\n"),
            (put(b"set b 0 0 1"), STORED),
            (b"mg b v N30\r\n", b"VA 1\r\n1\r\n"),
        ],
    ),
    (
        "asked for anew before its time ends",
        [
            (put(b"set c 0 20 1"), STORED),
            (b"mg c R10\r\n", b"HD\r\n"),
            (b"mg c R30\r\n", b"HD W\r\n"),
            (b"mg c R30\r\n", b"HD Z\r\n"),
            (put(b"set c 0 0 1"), STORED),
            (b"mg c R30\r\n", b"HD\r\n"),
        ],
    ),
    (
        "modes of ms",
        [
            (put(b"ms d 1 MR"), b"NS\r\n"),
            (put(b"ms d 1 MA"), b"NS\r\n"),
            (put(b"ms d 1 MP"), b"NS\r\n"),
            (put(b"ms d 1 ME", b"b"), b"HD\r\n"),
            (put(b"ms d 1 ME"), b"NS\r\n"),
            (put(b"ms d 1 MA", b"c"), b"HD\r\n"),
            (put(b"ms d 1 MP", b"a"), b"HD\r\n"),
            (b"mg d v\r\n", b"VA 3\r\nabc\r\n"),
            (put(b"ms d 1 MR"), b"HD\r\n"),
            (put(b"ms d 1 MS"), b"HD\r\n"),
            (put(b"ms d2 1 MA N30"), b"HD\r\n"),
            (b"mg d2 v t\r\n", b"VA 1 t30\r\n1\r\n"),
        ],
    ),
    (
        "modes in small letters",
        [
            (put(b"ms d 1 Me"), b"CLIENT_ERROR invalid mode for ms M token\r\n"),
            (b"ma f Mi\r\n", b"CLIENT_ERROR invalid mode for ma M token\r\n"),
        ],
    ),
    (
        "flags that are given back",
        [
            (put(b"ms e 1 k O1 c"), b"HD ke O1 c#\r\n"),
            (put(b"ms e 1 c O2 k q"), b""),
            (put(b"ms e 1 k O3 C1 c"), b"EX ke O3 c0\r\n"),
            (put(b"ms none 1 C1 k O4"), b"NF knone O4\r\n"),
            (b"mg e s v O5 k f c t h l\r\n", b"VA 1 s1 O5 ke f0 c# t-1 h0 l#\r\n1\r\n"),
            (b"mg e h\r\n", b"HD h1\r\n"),
            (b"md e O6 k\r\n", b"HD O6 ke\r\n"),
            (b"md e O7 k\r\n", b"NF O7 ke\r\n"),
            (b"md e O7 k q\r\n", b"NF O7 ke\r\n"),
            (b"ma e q\r\n", b"NF\r\n"),
            (b"mg e k O8\r\n", b"EN ke O8\r\n"),
            (b"mg e k O8 q\r\n", b""),
        ],
    ),
    (
        "numbers",
        [
            (b"ma f N0 J10 v\r\n", b"VA 2\r\n10\r\n"),
            (b"ma f v\r\n", b"VA 2\r\n11\r\n"),
            (b"ma f D5 MD v\r\n", b"VA 1\r\n6\r\n"),
            (b"ma f MI D18446744073709551615 v\r\n", b"VA 1\r\n5\r\n"),
            (b"ma f M- D18446744073709551615 q\r\n", b""),
            (b"ma f M+ D0 v c t O1 k\r\n", b"VA 1 c# t-1 O1 kf\r\n0\r\n"),
            (b"ma f C1\r\n", b"EX\r\n"),
            (b"ma nothing\r\n", b"NF\r\n"),
        ],
    ),
    (
        "binary keys",
        [
            (put(b"ms AAECAw0K 1 b k"), b"HD kAAECAw0K b\r\n"),
            (b"mg AAECAw0K b k v\r\n", b"VA 1 kAAECAw0K b\r\n1\r\n"),
            (b"mg AAECAw0K v\r\n", b"EN\r\n"),
            (b"me AAECAw0K b\r\n", b"ME AAECAw0K exp=-1 la=# cas=# fetch=yes cls=# size=#\r\n"),
            (b"md AAECAw0K b k\r\n", b"HD kAAECAw0K b\r\n"),
        ],
    ),
    (
        "numbers that compare, and a late one that says so",
        [
            (put(b"ms g 1 E1000"), b"HD\r\n"),
            (b"mg g c\r\n", b"HD c1000\r\n"),
            (put(b"ms g 1 C999"), b"EX\r\n"),
            (put(b"ms g 1 C0 I"), b"EX\r\n"),
            (put(b"ms g 1 C1000 E2000"), b"HD\r\n"),
            (put(b"ms g 1 C1500 I", b"2"), b"HD\r\n"),
            (b"mg g v\r\n", b"VA 1 X W\r\n2\r\n"),
            (b"mg g v\r\n", b"VA 1 Z X\r\n2\r\n"),
            (b"md g C1\r\n", b"EX\r\n"),
        ],
    ),
    (
        "emptied, and left where it is",
        [
            (put(b"ms i 1 F5"), b"HD\r\n"),
            (b"md i x\r\n", b"HD\r\n"),
            (b"mg i v f\r\n", b"VA 0 f0\r\n\r\n"),
        ],
    ),
    ("looked at without a trace", [(put(b"ms j 1"), b"HD\r\n"), (b"mg j u\r\n", b"HD\r\n"), (b"mg j h\r\n", b"HD h0\r\n")]),
]


def meta():
    with Numastore() as server, Connection(server.port) as connection:
        for what, rows in META:
            for request, answer in rows:
                found = connection.ask(request + NEXT, NEXT_ANSWER)[: -len(NEXT_ANSWER)]
                check(re.fullmatch(like(answer), found), what, request, "is answered by", found, "instead of", answer)
        last_access(connection)


def last_access(connection):
    """Seconds since it was stored; since it was touched; since it was read."""

    def age():
        return int(re.search(rb"la=(\d+)", connection.ask(b"me age\r\n")).group(1))

    def wait():
        end = time.monotonic() + PATIENCE_S
        while age() < 2:
            check(time.monotonic() < end, "it does not grow older")
            time.sleep(0.05)

    connection.ask(put(b"set age 0 0 1"))
    for renew in (b"touch age 0\r\n", b"mg age\r\n"):
        wait()
        check(int(re.search(rb"l(\d+)", connection.ask(b"mg age l u\r\n")).group(1)) >= 2, "l")
        before = time.monotonic()
        connection.ask(renew)
        check(age() <= time.monotonic() - before + 1, renew)


# ---- limits of the server ----


def fails(status, words, *options):
    program = program_of("NUMASTORE", "numastore")
    found = subprocess.run([program, "-p", "-1", "--http-port", "0", *options], capture_output=True, timeout=PATIENCE_S, check=False)
    check(found.returncode == status and words in found.stderr.decode(), options, "end with", found.returncode, found.stderr)


def limits():
    for size in ("1023", "1025m", "2g", "1t"):
        fails(2, "is not in 1K..1G", "-I", size)
    for size in ("0", "-1", "x", "", "1x"):
        fails(2, "-I", "-I", size)
    with Numastore("-I", "1024") as server, Connection(server.port) as connection:
        check_equal(connection.ask(put(b"set a 0 0 1024", b"x" * 1024)), STORED, "the limit")
        check_equal(connection.ask(put(b"append a 0 0 1", b"x")), LARGE, "more by append")
        check_equal(connection.ask(b"mg a s\r\n"), b"HD s1024\r\n", "what is left")
        check_equal(connection.ask(put(b"set a 0 0 1025", b"x" * 1025)), LARGE, "more")
        check_equal(connection.ask(b"get a\r\n"), END, "the old value")
        check_equal(connection.stats("settings")["item_size_max"], "1024", "item_size_max")
        check_equal(connection.stats("settings")["tcpport"], str(server.port), "tcpport")
        check_equal(connection.stats()["store_too_large"], "2", "store_too_large")
    with Numastore("-c", "3") as server:
        others = [Connection(server.port) for _ in range(3)]
        for other in others:
            check(other.ask(b"version\r\n").startswith(b"VERSION "), "one of three")
        with Connection(server.port) as one_more:
            check_equal(one_more.read_all(), b"ERROR Too many open connections\r\n", "the fourth")
        check_equal(others[0].stats()["rejected_connections"], "1", "rejected_connections")
        for other in others:
            other.close()
    with Numastore("-o", "idle_timeout=1") as server:
        with Connection(server.port) as idle:
            check(idle.ask(b"version\r\n").startswith(b"VERSION "), "before it is idle")
            check_equal(idle.read_all(), b"", "what is said to the idle")
        with Connection(server.port) as other:
            check_equal(other.stats()["connections_timed_out"], "1", "connections_timed_out")


def memory():
    """-M: an error instead of eviction, and what is there stays."""
    value = b"x" * 100000
    with Numastore("-M", memory="8M") as server, Connection(server.port) as connection:
        answers = [connection.ask(put(b"set m%d 0 0 100000" % i, value)) for i in range(200)]
        stored = answers.count(STORED)
        check(set(answers) == {STORED, FULL} and 40 < stored < 84, answers)
        check_equal(answers, [STORED] * stored + [FULL] * (200 - stored), "answers")
        for i in range(stored):
            check_equal(connection.ask(b"mg m%d s\r\n" % i), b"HD s100000\r\n", f"number {i}")
        # Who would have replaced a value must not find the old one later.
        check_equal(connection.ask(put(b"set m0 0 0 200000", value * 2)), FULL, "a larger one")
        check_equal(connection.ask(b"get m0\r\n"), END, "the old value")
        check_equal(connection.ask(put(b"ms m199 100000 q", value) + put(b"ms m198 100000 q", value) + b"mn\r\n", b"MN\r\n"), FULL + b"MN\r\n", "q")
        check_equal(connection.stats()["evictions"], "0", "evictions")
        check_equal(connection.stats("settings")["evictions"], "off", "evictions")
        check_equal(connection.ask(b"flush_all\r\n"), b"OK\r\n", "flush_all")
        check_equal(connection.ask(put(b"set m0 0 0 100000", value)), STORED, "after flush_all")


AUTH = [
    # (what, request, answer)
    ("a command", b"get k\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("an empty line", b"\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("version", b"version\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("a meta command", b"mg k v\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("a wrong password", put(b"set a 0 0 10", b"user passx"), b"CLIENT_ERROR authentication failure\r\n"),
    ("part of the password", put(b"set a 0 0 8", b"user pas"), b"CLIENT_ERROR authentication failure\r\n"),
    ("a wrong user", put(b"set a 0 0 9", b"usex pass"), b"CLIENT_ERROR authentication failure\r\n"),
    ("a user alone", put(b"set a 0 0 4", b"user"), b"CLIENT_ERROR bad authentication token format\r\n"),
    ("nothing", put(b"set a 0 0 0", b""), b"CLIENT_ERROR bad authentication token format\r\n"),
    ("longer than said", put(b"set a 0 0 9", b"user password"), b"CLIENT_ERROR bad command line termination\r\n"),
    ("no length", b"set a 0 0\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("a length of letters", b"set a 0 0 x\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
    ("a length of 2^64", b"set a 0 0 18446744073709551616\r\n", b"CLIENT_ERROR unauthenticated\r\n"),
]


def auth():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("user:pass\nother:word:with:colons\n")
        file.flush()
        with Numastore("--auth-file", file.name) as server:
            for what, request, answer in AUTH:
                for way in (at_once, bytewise):
                    with Connection(server.port) as connection:
                        way(connection, request + put(b"set a 0 0 9 x", b"user pass") + b"mn\r\n")
                        found = connection.read_until(b"MN\r\n")
                        check_equal(found, answer + STORED + b"MN\r\n", f"{what} ({way.__name__})")
            with Connection(server.port) as connection:
                request = b"set a 0 0 2000\r\n" + b"set k 0 0 1\r\n1\r\n" * 100
                connection.send(request)
                check_equal(connection.read_all(), b"CLIENT_ERROR unauthenticated\r\n", "a long value")
            with Connection(server.port) as connection:
                connection.send(b"x" * 3000 + b" " + b"y" * 7000)
                check_equal(connection.read_all(), LONG, "a long line")
            with Connection(server.port) as connection:
                check_equal(connection.ask(put(b"set k 0 0 22", b"other word:with:colons")), STORED, "the second user")
                check_equal(connection.ask(b"get k\r\n"), END, "the password is not stored")
                stats = connection.stats()
                check(int(stats["auth_errors"]) == 6 and int(stats["auth_cmds"]) > 6, stats)
    with tempfile.TemporaryDirectory() as directory:
        fails(1, "auth file", "--auth-file", os.path.join(directory, "none"))
        empty = os.path.join(directory, "empty")
        with open(empty, "w", encoding="ascii"):
            pass
        fails(1, "auth file", "--auth-file", empty)


# ---- peers that do not do their part ----


def resident_bytes(server):
    with open(f"/proc/{server.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def heads(connection):
    return sum(int(heads) for heads in re.findall(r",heads=(\d+)", str(connection.stats("placement"))))


def unread_answers(server, other):
    """Ten thousand commands in one go, and nobody reads what is answered."""
    large = b"x" * 200000
    other.ask(put(b"set large 0 0 %d" % len(large), large))
    before = resident_bytes(server)
    with Connection(server.port) as deaf:
        deaf.socket.setblocking(False)
        request = b"get large\r\n" * 10000 + b"get " + b"large " * 10000 + b"\r\n"
        sent = 0
        end = time.monotonic() + 2
        while sent < len(request) and time.monotonic() < end:
            try:
                sent += deaf.socket.send(request[sent:])
            except BlockingIOError:
                time.sleep(0.02)
            # Others are served all the time.
            check(other.ask(b"version\r\n").startswith(b"VERSION "), "somebody else")
        grown = resident_bytes(server) - before
        check(grown < 32 << 20, "memory grew by", grown)


def fair_turns(server, other):
    """One who asks for a lot at a time, and reads it, does not keep others from their turn."""
    with Connection(server.port) as greedy:
        greedy.send(b"set n 0 0 1\r\n1\r\n" + b"incr n 1\r\n" * 20000)
        served = 0
        while served < 50:
            check(other.ask(b"mn\r\n") == b"MN\r\n", "somebody else")
            served += 1
        greedy.read_until(b"20001\r\n")


def stops_in_value(server, other):
    """What a value had been given goes back when its sender goes."""
    before = heads(other)
    going = [Connection(server.port) for _ in range(20)]
    for number, connection in enumerate(going):
        connection.send(b"set half%d 0 0 100000\r\n" % number + b"x" * 5000)
    eventually(lambda: heads(other) == before + 20, "values that are coming are not counted")
    for number, connection in enumerate(going):
        if number % 2:  # a reset
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    eventually(lambda: heads(other) == before, "heads are lost")
    for number in range(20):
        check_equal(other.ask(b"get half%d\r\n" % number), END, "half a value")


def half_closed(server):
    with Connection(server.port) as connection:
        connection.send(put(b"set h 0 0 1") + b"get h\r\nset h 0 0 5\r\n12")
        connection.socket.shutdown(socket.SHUT_WR)
        check_equal(connection.read_all(), STORED + b"VALUE h 0 1\r\n1\r\nEND\r\n", "what came whole")


def reset_while_sending(server, other):
    for _ in range(20):
        connection = Connection(server.port)
        connection.send(b"get large\r\n" * 50)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    check(other.ask(b"version\r\n").startswith(b"VERSION "), "after resets")


def slow_reader(server, other):
    """An old value goes on to who asked for it, whatever becomes of its key."""
    old = os.urandom(1 << 10) * 200
    other.ask(put(b"set slow 0 0 %d" % len(old), old))
    with Connection(server.port) as reader:
        count = 40
        reader.send(b"get slow\r\n" * count)
        check_equal(reader.read_exactly(len(b"VALUE slow 0 ")), b"VALUE slow 0 ", "the beginning")
        for change in (put(b"set slow 0 0 3", b"new"), b"incr slow 1\r\n", b"delete slow\r\n", b"flush_all\r\n"):
            other.ask(change)
        for i in range(100):
            other.ask(put(b"set other%d 0 0 %d" % (i, len(old)), bytes(len(old))))
        wanted = b"%d\r\n" % len(old) + old + b"\r\nEND\r\n"
        check(reader.read_exactly(len(wanted)) == wanted, "the old value is not whole")
        # The rest were answered then or later: old, new, or nothing; each of them whole.
        reader.send(b"mn\r\n")
        rest = reader.read_until(b"MN\r\n")
        for value in (b"VALUE slow 0 " + wanted, b"VALUE slow 0 3\r\nnew\r\nEND\r\n", END, b"MN\r\n"):
            while rest.startswith(value):
                rest = rest[len(value) :]
        check(rest == b"", "not whole:", rest[:200])


def peers():
    with Numastore(memory="32M") as server, Connection(server.port) as other:
        unread_answers(server, other)
        fair_turns(server, other)
        stops_in_value(server, other)
        half_closed(server)
        reset_while_sending(server, other)
        slow_reader(server, other)


CASES = {case.__name__: case for case in (table, numbers, quiet, meta, limits, memory, auth, peers)}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CASES:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(CASES)}")
    sys.exit(main_of(CASES[sys.argv[1]]))
