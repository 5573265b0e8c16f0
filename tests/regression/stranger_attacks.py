"""What strangers try at the port of a launcher. Each attack gets the port and works alike while node 0 waits for its nodes and while ranks run;
it fails where somebody without the job's secret hears more than that it is refused."""
import json
import secrets
import socket
import subprocess
import threading
import time

from strangers import Caller, Stranger
from support import check, program

VERSION = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip().removeprefix("tessera ")
SECRET = secrets.token_hex(32)
WORD = "the-command-line-is-nobodys-business"
COMMAND = f"./rank.py --token={WORD}"  # what the ranks run
HOSTILE = "\x1b]0;pwned\x07\x1b[31m\nE 00:00:00 a line of a stranger"


def hello(**changed):
    return {"hello": {"protocol": "tessera-launch-3", "program": VERSION, "command": COMMAND, "num_nodes": 2, "node_rank": 1, "ranks": 1, "host": "h", **changed}}


def report(**changed):
    one = {"rank": 1, "host": "h", "pid": 1, "speaks": True, "step": 1, "collective": 0, "sample": -1, "phase": 3, "waiting": False, "unchanged_s": 0.0,
           "busy": True, "state": 82, "ended": False, "ended_s": 0.0, "exit_code": 0, "killed_by": 0, "killed_by_us": False, "error": "", **changed}
    return {"generation": 0, "report": [one]}


def old_way():
    return [hello(ranks=-5), hello(ranks=2147483647), hello(ranks=1e300), hello(protocol="z"), hello(host=HOSTILE), hello(node_rank=99), hello(),
            {"signal": 9}, {"signal": 15}, report(ended=True), report(killed_by=1000000), report(state=""), report(error=HOSTILE)]


def said_nothing(lines):
    """A stranger hears a nonce and that it is refused."""
    check(all(line == "refused" or (len(line) == 64 and all(c in "0123456789abcdef" for c in line)) for line in lines), f"a stranger heard {lines}")


def unsigned_messages(port):  # as they were sent before messages were signed
    for message in old_way():
        said_nothing(Stranger(port).send(json.dumps(message).encode() + b"\n").rest())
    said_nothing(Stranger(port).send(b"".join(json.dumps(message).encode() + b"\n" for message in old_way())).rest())


def wrong_secret(port):  # the same, by one who knows the way but not the secret
    for secret in ("", "f" * 64, SECRET[:-1]):
        for message in old_way():
            caller = Caller(port, secret).prove()
            said_nothing(caller.say(hello()).say(message).rest())


def wrong_code(port):
    caller = Caller(port, SECRET)
    first = caller.first()
    flipped = first[:-2] + (b"0" if first[-2:-1] != b"0" else b"1") + b"\n"
    said_nothing(caller.send(flipped).rest())
    said_nothing(Caller(port, SECRET).prove().send(b"0" * 64 + b" " + json.dumps(hello()).encode() + b"\n").rest())


def no_code(port):
    said_nothing(Caller(port, SECRET).prove().send(json.dumps(hello()).encode() + b"\n").rest())
    caller = Caller(port, SECRET)
    said_nothing(caller.send(caller.nonce.encode() + b"\n").rest())


def replayed(port):
    """All that a member said on its connection, on another one."""
    member = Caller(port, SECRET)
    conversation = member.first() + member.sealed(hello(), 1) + member.sealed(report(ended=True), 2)
    member.close()
    said_nothing(Stranger(port).send(conversation).rest())


def replayed_within(port):
    caller = Caller(port, SECRET).prove()
    said_nothing(caller.send(caller.first()).rest())


def reordered(port):
    caller = Caller(port, SECRET).prove()
    said_nothing(caller.send(caller.sealed({"signal": 15}, 2) + caller.sealed(hello(), 1)).rest())


def truncated(port):
    for cut in (1, 64, 65, 100, 128):
        caller = Caller(port, SECRET)
        caller.send(caller.first()[:cut]).close()
        caller = Caller(port, SECRET).prove()
        caller.send(caller.sealed(hello(), 1)[:cut]).close()
    caller = Caller(port, SECRET)
    said_nothing(caller.send(caller.first()[:100] + b"\n").rest())


def oversized(port):
    for data in (b"[" * (4 << 20) + b"\n", b"x" * (8 << 20), b"a" * 4097 + b"\n"):
        said_nothing(Stranger(port).send(data).rest())
    caller = Caller(port, SECRET).prove()
    said_nothing(caller.send(b"0" * (4 << 20) + b"\n").rest())


def deep(port):
    caller = Caller(port, SECRET).prove()
    said_nothing(caller.say("[" * 8000).rest())
    caller = Caller(port, SECRET).prove()
    said_nothing(caller.say('{"hello":' * 1500 + "1" + "}" * 1500).rest())


def wrong_types(port):
    """A member whose hello is nonsense, with the right secret: it is dropped, and the job goes on."""
    for message in (hello(ranks=-5), hello(ranks=0), hello(ranks=2147483647), hello(ranks=1e300), hello(ranks="1"), hello(ranks=None), hello(ranks=[1]),
                    hello(host=7), hello(node_rank=True), hello(num_nodes={}), hello(host="x" * 9000), {"hello": []}, {"hello": None}, [], 7, "text", None,
                    {"signal": 15}, report(ended=True), {}, '{"hello":', "\\u0000"):
        said_nothing(Caller(port, SECRET).prove().say(message).rest())


def garbage(port):
    for data in (b"\n", b"\0" * 100 + b"\n", bytes(range(256)) + b"\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\n",
                 secrets.token_bytes(3000).replace(b"\n", b"") + b"\n", HOSTILE.encode() + b"\n"):
        said_nothing(Stranger(port).send(data).rest())


def taken_place(port):
    """The right secret, but the place of node 0, which is never free, or one that is none."""
    for place in (0, 2, 99):
        lines = Caller(port, SECRET).prove().say(hello(node_rank=place, num_nodes=max(2, place + 1), host=HOSTILE)).rest()
        check(len(lines) == 1 and "refuses this one" in lines[0], f"node {place} heard {lines}")


def half_open(port):
    """Connections that say nothing, or half a word, are gone after ten seconds; the hour of simulated time is in reception_test.cpp."""
    idle = [Stranger(port) for _ in range(3)] + [Stranger(port).send(b"a" * 30) for _ in range(3)] + [Caller(port, SECRET).prove() for _ in range(3)]
    began = time.monotonic()
    for one in idle:
        said_nothing(one.rest(timeout=40))
    check(time.monotonic() - began < 30, "half-open connections stay")


def crowd_of(port, count):
    """Connections that are begun and held, whether or not node 0 takes them."""
    crowd = []
    for _ in range(count):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))
        crowd.append(one)
    return crowd


def thousand(port):
    """A thousand connections at once, all held for some seconds; node 0 keeps a few of them and closes the others."""
    crowd = crowd_of(port, 1000)
    time.sleep(4)
    for one in crowd:
        one.close()


class Flood:
    """Comes again and again with hundreds of connections, some of which say something, as long as the block runs."""

    def __init__(self, port):
        self.port, self.over = port, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.is_set():
            crowd = crowd_of(self.port, 200)
            for one in crowd[::2]:
                try:
                    one.send(b"GET / HTTP/1.1\r\n\r\n")
                except OSError:
                    pass  # not connected yet, or dropped
            self.over.wait(0.3)
            for one in crowd:
                one.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def drip(port, seconds):
    """Fourteen callers that send single bytes as fast as they can, anew whenever they are dropped."""
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        callers = []
        for _ in range(14):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            callers.append(one)
        for _ in range(4000):  # as long as a first line may be
            for one in callers:
                try:
                    sent += one.send(b"a")
                except OSError:
                    pass
            if time.monotonic() > end:
                break
        for one in callers:
            one.close()
    return sent


def taken_by_a_node(port):
    """A second node 1 with the right secret, while the first one trains: only for a job that runs."""
    lines = Caller(port, SECRET).prove().say(hello()).rest()
    check(len(lines) == 1 and "node 1 has joined already" in lines[0], f"heard {lines}")


ATTACKS = [unsigned_messages, wrong_secret, wrong_code, no_code, replayed, replayed_within, reordered, truncated, oversized, deep, wrong_types, garbage,
           taken_place, half_open, thousand]
