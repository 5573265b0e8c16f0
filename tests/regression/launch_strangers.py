"""tessera launch among strangers: whoever reaches the master port without the job's secret, or with it and nonsense to say, changes
nothing. Node 0 is attacked while it waits for its nodes and while ranks run; the job ends as if nobody had come. Loopback alone."""
import json
import os
import resource
import secrets
import signal
import socket
import subprocess
import threading
import time

from launched import clean_environment, finish, free_port, launch, none_left, processes_with, rank_script, run_tests, start_launch, wait_until
from strangers import Caller, Stranger, listening, listens, usage_of
from support import TINY, check, program

VERSION = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip().removeprefix("tessera ")
SECRET = secrets.token_hex(32)
WORD = "the-command-line-is-nobodys-business"
COMMAND = ""  # of the ranks, in the folder of the test that runs
HOSTILE = "\x1b]0;pwned\x07\x1b[31m\nE 00:00:00 a line of a stranger"


def hello(**changed):
    return {"hello": {"protocol": "tessera-launch-2", "program": VERSION, "command": COMMAND, "num_nodes": 2, "node_rank": 1, "ranks": 1, "host": "h", **changed}}


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


# Each attack gets the port and works alike while node 0 waits for its nodes and while ranks run.

def unsigned_messages(port):  # a to g of the review, as they were sent then
    for message in old_way():
        said_nothing(Stranger(port).send(json.dumps(message).encode() + b"\n").rest())
    said_nothing(Stranger(port).send(b"".join(json.dumps(message).encode() + b"\n" for message in old_way())).rest())


def wrong_secret(port):  # a to g, by one who knows the way but not the secret
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


def thousand(port):
    """A thousand connections, fifty at a time; those of them that node 0 does not hold any more are closed by it."""
    for _ in range(20):
        crowd = []
        for _ in range(50):
            one = socket.socket()
            one.settimeout(5)
            try:
                one.connect(("127.0.0.1", port))
            except OSError:
                pass  # the queue is full: waiting is what a crowd gets
            crowd.append(one)
        for one in crowd:
            one.close()


ATTACKS = [unsigned_messages, wrong_secret, wrong_code, no_code, replayed, replayed_within, reordered, truncated, oversized, deep, wrong_types, garbage,
           taken_place, half_open, thousand]


def lives(node, after):
    if node.poll() is not None:
        raise SystemExit(f"FAILED: node 0 ended with {node.returncode} after {after}\n{node.communicate()}")


def endure(node, port, attacks):
    """Runs the attacks; node 0 must live through each, and at a small price."""
    (memory, busy), began = usage_of(node.pid), time.monotonic()
    for attack in attacks:
        attack(port)
        lives(node, attack.__name__)
    (more_memory, more_busy), seconds = usage_of(node.pid), time.monotonic() - began
    print(f"  {len(attacks)} attacks in {seconds:.0f} s: memory {memory:.0f} -> {more_memory:.0f} MB, processor {more_busy - busy:.2f} s")
    check(more_memory - memory < 32, f"memory grew from {memory:.0f} to {more_memory:.0f} MB")
    check(more_busy - busy < 2 + 0.1 * seconds, f"{more_busy - busy:.1f} s of processor time in {seconds:.1f} s")


def nodes_of(folder, port, *command, env, extra=()):
    """Functions that start node 0 and node 1."""
    flags = ["--nnodes", 2, "--ranks-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port, "--tee", *extra]
    return [lambda node=node: start_launch(*flags, "--node-rank", node, "--", *command, cwd=folder, env=env) for node in (0, 1)]


def unmoved(texts, names):
    """No escapes, no lines of others, no secret in what the launchers say."""
    for text in texts:
        check("\x1b" not in text and "\nE 00:00:00" not in text and SECRET not in text, f"a stranger's text was shown, or the secret:\n{text!r}")
    check(not names or all(name in texts[0] for name in names), f"strangers are named: {names}\n{texts[0]}")


NAMED = ["dropped a connection from 127.0.0.1: ", "does not have the secret of this job", "no message of a launcher"]


def while_gathering(folder):
    port = free_port()
    first, second = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
    node0 = first()
    wait_until(lambda: listens(port), "node 0 listens")
    endure(node0, port, ATTACKS)
    (folder / "go").touch()
    node1 = second()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][0] == "[rank 0] rank 0 of 2 trained\n" and outs[1][0] == "[rank 1] rank 1 of 2 trained\n", str(outs))
    unmoved([errors for _, errors in outs], NAMED)
    check(outs[0][1].count("\n") < 40, f"a crowd is named a few times:\n{outs[0][1]}")
    check(outs[1][1] == "", outs[1][1])


def while_running(folder):
    port = free_port()
    first, second = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
    node0, node1 = first(), second()
    wait_until(lambda: all((folder / f"up-{rank}").exists() for rank in (0, 1)), "both ranks run")
    endure(node0, port, [*ATTACKS, taken_by_a_node])
    (folder / "go").touch()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][0] == "[rank 0] rank 0 of 2 trained\n" and outs[1][0] == "[rank 1] rank 1 of 2 trained\n", str(outs))
    unmoved([errors for _, errors in outs], NAMED)


def taken_by_a_node(port):
    """A second node 1 with the right secret, while the first one trains."""
    lines = Caller(port, SECRET).prove().say(hello()).rest()
    check(len(lines) == 1 and "node 1 has joined already" in lines[0], f"heard {lines}")


def exit_codes_are_the_ranks(folder):
    """The code of a rank comes through a crowd of strangers, and so does a stop."""
    for code, how in ((7, "exit"), (143, "stop")):
        port = free_port()
        for name in ("up-0", "up-1", "go"):
            (folder / name).unlink(missing_ok=True)
        first, second = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET, "CODE": str(code)})
        node0, node1 = first(), second()
        wait_until(lambda: all((folder / f"up-{rank}").exists() for rank in (0, 1)), "both ranks run")
        idle = [Stranger(port) for _ in range(40)]
        unsigned_messages(port)
        if how == "exit":
            (folder / "go").touch()
        else:
            node1.send_signal(signal.SIGTERM)  # goes to node 0, signed, and from there to all ranks
        outs = [finish(node) for node in (node0, node1)]
        check([node0.returncode, node1.returncode] == [code, code], f"exit codes {node0.returncode} and {node1.returncode}, not {code}\n{outs}")
        for one in idle:
            one.close()


def few_files(folder):
    """More connections than node 0 may have files: it neither spins nor keeps the real node out."""
    port = free_port()
    first, second = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        node0 = first()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    wait_until(lambda: listens(port), "node 0 listens")
    idle = [Stranger(port) for _ in range(90)]
    _, busy = usage_of(node0.pid)
    time.sleep(3)
    _, busier = usage_of(node0.pid)
    check(busier - busy < 0.6, f"{busier - busy:.2f} s of processor time in 3 s of nothing")
    (folder / "go").touch()
    node1 = second()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    for one in idle:
        one.close()


def on_the_wire(folder):
    """One who sits between the nodes and repeats, swaps or changes lines can cut the connection, and nothing else."""
    for how in ("repeated", "changed"):
        port, between = free_port(), free_port()
        for name in ("up-0", "up-1", "go"):
            (folder / name).unlink(missing_ok=True)
        first, _ = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
        _, second = nodes_of(folder, between, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
        node0 = first()
        wait_until(lambda: listens(port), "node 0 listens")
        with socket.create_server(("127.0.0.1", between)) as listener:
            node1 = second()
            inner, _ = listener.accept()
            outer = socket.create_connection(("127.0.0.1", port))
            relay(inner, outer, how, lambda: (folder / "up-1").exists())
        outs = [finish(node) for node in (node0, node1)]
        check(node0.returncode == 1 and "node 1 on " in outs[0][1] and "not signed" in outs[0][1], f"{how}: exit code {node0.returncode}\n{outs}")
        check(node1.returncode == 1, str(outs))


def relay(inner, outer, how, ready):
    """Carries lines both ways until one side closes; once `ready`, spoils one of node 1's reports."""
    def down():
        try:
            while data := outer.recv(65536):
                inner.sendall(data)
        except OSError:
            pass
        inner.close()

    thread = threading.Thread(target=down, daemon=True)
    thread.start()
    lines, spoiled = inner.makefile("rb"), False
    try:
        for line in lines:
            if ready() and not spoiled and b"report" in line:
                spoiled = True
                line = line + line if how == "repeated" else line.replace(b'"ended":false', b'"ended":true ')
            outer.sendall(line)
    except OSError:
        pass
    outer.close()
    thread.join(timeout=60)


def without_a_secret(folder):
    """On loopback, or with --insecure, anybody may come, but still not by mistake, nor to crash, mislead or read."""
    port = free_port()
    first, second = nodes_of(folder, port, *COMMAND.split(), env={}, extra=["--insecure"])
    node0 = first()
    wait_until(lambda: listens(port), "node 0 listens")
    for message in (hello(ranks=-5), hello(ranks=2147483647), hello(protocol="z"), hello(command="train other"), hello(host=HOSTILE, program="x"), hello(node_rank=99)):
        lines = Caller(port, "").prove().say(message).rest()
        check(all(WORD not in line and VERSION not in line and socket.gethostname() not in line for line in lines), f"a stranger learnt {lines}")
        lives(node0, message)
    said_nothing(Caller(port, SECRET).prove().say(hello()).rest())
    (folder / "go").touch()
    node1 = second()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][1].count("--insecure: whoever reaches 127.0.0.1 port") == 1, outs[0][1])
    unmoved([errors for _, errors in outs], [])
    # One that has come in that way is node 1; what it says is checked all the same.
    for message in ({"signal": 9}, {"signal": 1000}, report(state=""), report(killed_by=1000000, ended=True), report(rank=0), report(error=HOSTILE, exit_code=-1)):
        port = free_port()
        (folder / "up-0").unlink(missing_ok=True)
        (folder / "go").unlink(missing_ok=True)
        node0 = nodes_of(folder, port, *COMMAND.split(), env={})[0]()
        wait_until(lambda: listens(port), "node 0 listens")
        guest = Caller(port, "").prove().say(hello())
        check("kind" in guest.line() and "kind" in guest.line(), "the guest is node 1")
        wait_until(lambda: (folder / "up-0").exists(), "rank 0 runs")
        guest.say(message)
        out, errors = finish(node0)
        guest.close()
        check(node0.returncode == 1 and "node 1 on h is lost: its launcher sent what no launcher sends" in errors, f"{message}: {node0.returncode}\n{out}{errors}")
        unmoved([errors], [])


def wrong_secrets_are_told(folder):
    """Two launchers with different secrets: the second is told, in words that help, and the first goes on waiting."""
    port = free_port()
    first, _ = nodes_of(folder, port, *COMMAND.split(), env={"TESSERA_JOB_SECRET": SECRET})
    node0 = first()
    for other in ({"TESSERA_JOB_SECRET": "another secret of another job"}, {}):
        node1 = nodes_of(folder, port, *COMMAND.split(), env=other)[1]()
        _, errors = finish(node1)
        check(node1.returncode == 1 and "do not have the same secret" in errors and "TESSERA_JOB_SECRET_FILE" in errors, errors)
        check(WORD not in errors.replace(COMMAND, ""), errors)
    lives(node0, "launchers with other secrets")
    node0.send_signal(signal.SIGINT)
    finish(node0)
    check(node0.returncode == 130, f"exit code {node0.returncode}")
    # Nodes that are started by hand for other hosts to reach need one.
    there = ["--nnodes", 2, "--ranks-per-node", 1, "--node-rank", 0, "--master-addr", "192.0.2.1", "--master-port", port, "--", "true"]
    _, errors, _ = launch(*there, cwd=folder, expect=2)
    check(all(way in errors for way in ("TESSERA_JOB_SECRET_FILE=FILE", "TESSERA_JOB_SECRET,", "--insecure")), errors)
    loose = folder / "loose"
    loose.write_text(SECRET)
    loose.chmod(0o644)
    _, errors, _ = launch(*there, cwd=folder, expect=2, env={"TESSERA_JOB_SECRET_FILE": str(loose)})
    check("open to other users" in errors and "chmod 600" in errors and SECRET not in errors, errors)


def nothing_on_command_lines(folder):
    """Over ssh, variables and the secret go by standard input; ranks get the secret as a file that is theirs alone."""
    ssh = folder / "fake-ssh"
    ssh.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word" >> calls; done\nexec sh -c "$2"\n')
    ssh.chmod(0o755)
    value = "it's \"$(touch pwned)\" `id` \\ two\nlines "
    show = rank_script(folder, '''
path = os.environ["TESSERA_JOB_SECRET_FILE"]
print(rank, repr(os.environ["TESSERA_TOKEN"]), oct(os.stat(path).st_mode & 0o777), len(open(path).read()), "TESSERA_JOB_SECRET" in os.environ, flush=True)
open(f"seen-{rank}", "w").write(open(path).read())
while not os.path.exists("done"):
    time.sleep(0.05)
''')
    process = start_launch("--hosts", "127.0.0.1:1,127.0.0.2:1", "--ssh", ssh, "--tee", "--", show, cwd=folder,
                           env={"TESSERA_TOKEN": value, "TESSERA_JOB_SECRET": "a secret of the user, not for ssh"})
    wait_until(lambda: all((folder / f"seen-{rank}").exists() and len((folder / f"seen-{rank}").read_text()) == 64 for rank in (0, 1)), "both ranks have seen it")
    secret = (folder / "seen-0").read_text()
    check(secret == (folder / "seen-1").read_text(), "the ranks have different secrets")
    check(not processes_with(secret) and not processes_with("touch pwned") and not processes_with("a secret of the user"), "a secret is on a command line")
    (folder / "done").touch()
    out, errors = finish(process)
    check(process.returncode == 0, out + errors)
    check(sorted(out.splitlines()) == [f"[rank {rank}] {rank} {value!r} 0o400 64 False" for rank in (0, 1)], out)
    calls = (folder / "calls").read_text()
    check("touch pwned" not in calls and secret not in calls and "TESSERA_TOKEN" not in calls and not (folder / "pwned").exists(), calls)
    for host in ("h`id`(x)", "user@-x", "-oProxyCommand=x", "a$b", "a\nb"):
        _, errors, _ = launch("--hosts", host, "--ssh", ssh, "--", "true", cwd=folder, expect=2)
        check("is no host" in errors, errors)


LOOPBACK = {"0100007F"}


def only_loopback(folder):
    """What one host's processes listen on, nobody else can reach: the ranks' store and Gloo, and the launcher on two nodes of loopback."""
    tag = f"{os.getpid()}-loopback"
    options = TINY + ["train.duration=100000ba", "checkpoint.every=5ba", "eval.every=0ba", "run.tensorboard=false", "data.threads=1"]
    process = start_launch("--ranks-per-node", 2, "--", "train", *options, f"run.dir={folder}/{tag}", cwd=folder)
    wait_until(lambda: any((folder / tag / "checkpoints").glob("step-*/DONE")), "training is under way", timeout=180)
    addresses = listening(processes_with(tag))
    check(addresses == LOOPBACK, f"ranks of one host listen at {addresses}")
    process.send_signal(signal.SIGTERM)
    finish(process)
    check(process.returncode == 143, f"exit code {process.returncode}")
    none_left(tag)
    port = free_port()
    node0 = nodes_of(folder, port, "sleep", "1000", env={})[0]()
    wait_until(lambda: listens(port), "node 0 listens")
    check(listening([node0.pid]) == LOOPBACK, f"node 0 listens at {listening([node0.pid])}")
    node0.send_signal(signal.SIGTERM)
    finish(node0)


def ranks_without_the_secret(folder):
    """Ranks started by hand, one of them without the job's secret: both say so, and nobody trains."""
    port, options = free_port(), TINY + ["train.duration=5ba", "run.tensorboard=false", "data.threads=1"]
    for other in ({"TESSERA_JOB_SECRET": "another secret of another job"}, {}):
        ranks = []
        for rank, env in enumerate(({"TESSERA_JOB_SECRET": SECRET}, other)):
            place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            ranks.append(subprocess.Popen([program(), "train", *options, f"run.dir={folder}/refused"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True, env={**clean_environment(), **place, **env}))
        for rank in ranks:
            out, errors = finish(rank)
            check(rank.returncode == 1 and "job secret" in errors and SECRET not in errors, f"exit code {rank.returncode}\n{out}{errors}")
        check(not list((folder / "refused").glob("checkpoints/*")), "a rank has trained")


def main(*tests):
    """Each test has the rank's script in its folder, under a name that is nobody's business."""
    def prepared(test):
        def run(folder):
            script = rank_script(folder, '''
note(step=1)
open(f"up-{rank}", "w").close()
while not os.path.exists("go"):
    note(step=1)
    time.sleep(0.05)
print("rank", rank, "of", world, "trained", flush=True)
sys.exit(int(os.environ.get("CODE", "0")))
''')
            global COMMAND
            COMMAND = f"{script} --token={WORD}"
            test(folder)
        run.__name__ = test.__name__
        return run
    run_tests(*map(prepared, tests))


if __name__ == "__main__":
    main(while_gathering, while_running, exit_codes_are_the_ranks, few_files, on_the_wire, without_a_secret, wrong_secrets_are_told, nothing_on_command_lines,
         only_loopback, ranks_without_the_secret)
