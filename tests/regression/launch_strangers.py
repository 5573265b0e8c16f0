"""tessera launch among strangers: whoever reaches the master port without the job's secret, or with it and nonsense to say, changes
nothing. Node 0 is attacked while it waits for its nodes and while ranks run; the job ends as if nobody had come. Loopback alone."""
import resource
import secrets
import signal
import socket
import threading
import time

from launched import finish, free_port, rank_script, run_tests, start_launch, wait_until
from stranger_attacks import (ATTACKS, COMMAND, HOSTILE, SECRET, VERSION, WORD, Flood, drip, hello, report, said_nothing, taken_by_a_node,
                              unsigned_messages)
from strangers import Caller, Stranger, listens, usage_of
from support import check


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


def nodes_of(folder, port, env, extra=()):
    """Functions that start node 0 and node 1."""
    flags = ["--nnodes", 2, "--ranks-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port, "--tee", *extra]
    return [lambda node=node: start_launch(*flags, "--node-rank", node, "--", *COMMAND.split(), cwd=folder, env=env) for node in (0, 1)]


def unmoved(texts, names):
    """No escapes, no lines of others, no secret in what the launchers say."""
    for text in texts:
        check("\x1b" not in text and "\nE 00:00:00" not in text and SECRET not in text, f"a stranger's text was shown, or the secret:\n{text!r}")
    check(not names or all(name in texts[0] for name in names), f"strangers are named: {names}\n{texts[0]}")


NAMED = ["dropped a connection from 127.0.0.1: ", "does not have the secret of this job", "no message of a launcher"]


def while_gathering(folder):
    port = free_port()
    first, second = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET})
    node0 = first()
    wait_until(lambda: listens(port), "node 0 listens")
    endure(node0, port, ATTACKS)
    (folder / "go").touch()
    with Flood(port):
        node1 = second()
        outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][0] == "[rank 0] rank 0 of 2 trained\n" and outs[1][0] == "[rank 1] rank 1 of 2 trained\n", str(outs))
    unmoved([errors for _, errors in outs], NAMED)
    check(outs[0][1].count("\n") < 40, f"a crowd is named a few times:\n{outs[0][1]}")
    check(outs[1][1] == "", outs[1][1])


def while_running(folder):
    port = free_port()
    first, second = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET})
    node0, node1 = first(), second()
    wait_until(lambda: all((folder / f"up-{rank}").exists() for rank in (0, 1)), "both ranks run")
    endure(node0, port, [*ATTACKS, taken_by_a_node])
    (folder / "go").touch()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][0] == "[rank 0] rank 0 of 2 trained\n" and outs[1][0] == "[rank 1] rank 1 of 2 trained\n", str(outs))
    unmoved([errors for _, errors in outs], NAMED)


def exit_codes_are_the_ranks(folder):
    """The code of a rank comes through a crowd of strangers, and so does a stop."""
    for code, how in ((7, "exit"), (143, "stop")):
        port = free_port()
        for name in ("up-0", "up-1", "go"):
            (folder / name).unlink(missing_ok=True)
        first, second = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET, "CODE": str(code)})
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


def dripping(folder):
    """Single bytes, one after the other, do not keep node 0 busy."""
    port = free_port()
    node0 = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET})[0]()
    wait_until(lambda: listens(port), "node 0 listens")
    _, busy = usage_of(node0.pid)
    sent, seconds = drip(port, 8), 8
    _, busier = usage_of(node0.pid)
    print(f"  {sent} bytes in {seconds} s: processor {busier - busy:.2f} s")
    check(busier - busy < 0.05 * seconds, f"{busier - busy:.2f} s of processor time in {seconds} s, for {sent} single bytes")
    node0.send_signal(signal.SIGTERM)
    finish(node0)


def false_node_0(folder):
    """Who listens at the master's address without the secret hears nothing of the job from the nodes that call, whatever it says to them."""
    for answers in ([], ["0" * 64 + " "], ["0" * 64 + ' {"kind":1}'], ["refused"], ["GET"]):
        port = free_port()
        with socket.create_server(("127.0.0.1", port)) as listener:
            node1 = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET}, extra=["--start-timeout", "3"])[1]()
            caller, _ = listener.accept()
            for line in [secrets.token_hex(32), *answers]:
                caller.sendall(line.encode() + b"\n")
            caller.settimeout(2)
            heard = b""
            try:
                while data := caller.recv(65536):
                    heard += data
            except OSError:
                pass
            caller.close()
        finish(node1)
        check(node1.returncode == 1, f"node 1 ended with {node1.returncode}")
        lines = heard.decode().splitlines()
        check(len(lines) == 1 and len(lines[0]) == 129 and WORD not in heard.decode(), f"a false node 0 that says {answers} hears {lines}")


def few_files(folder):
    """More connections than node 0 may have files: it neither spins nor keeps the real node out."""
    port = free_port()
    first, second = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET})
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
    """One who sits between the nodes and repeats, changes, swaps or leaves out lines can cut the connection, and nothing else."""
    for how in SPOILT:
        port, between = free_port(), free_port()
        for name in ("up-0", "up-1", "go"):
            (folder / name).unlink(missing_ok=True)
        first, _ = nodes_of(folder, port, env={"TESSERA_JOB_SECRET": SECRET})
        _, second = nodes_of(folder, between, env={"TESSERA_JOB_SECRET": SECRET})
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


SPOILT = {"repeated": lambda one, next_one: [one, one], "changed": lambda one, next_one: [one.replace(b'"ended":false', b'"ended":true '), next_one],
          "swapped": lambda one, next_one: [next_one, one], "left out": lambda one, next_one: [next_one]}


def relay(inner, outer, how, ready):
    """Carries lines both ways until one side closes; once `ready`, spoils one of node 1's reports, or its order with the next."""
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
                line = b"".join(SPOILT[how](line, next(lines)))
            outer.sendall(line)
    except OSError:
        pass
    outer.close()
    thread.join(timeout=60)


def without_a_secret(folder):
    """On loopback, or with --insecure, anybody may come, but still not by mistake, nor to crash, mislead or read."""
    port = free_port()
    first, second = nodes_of(folder, port, env={}, extra=["--insecure"])
    node0 = first()
    wait_until(lambda: listens(port), "node 0 listens")
    for message in (hello(ranks=-5), hello(ranks=2147483647), hello(protocol="z"), hello(command="train other"), hello(host=HOSTILE, program="x"), hello(node_rank=99)):
        lines = Caller(port, "").prove().say(message).rest()
        check(all(WORD not in line and VERSION not in line and socket.gethostname() not in line for line in lines), f"a stranger learnt {lines}")
        lives(node0, message)
    said_nothing(Caller(port, SECRET).prove().say(hello()).rest())
    for number in range(50):
        Caller(port, "").prove().say(hello(host=f"h{number}", command="train other")).rest()
    (folder / "go").touch()
    node1 = second()
    outs = [finish(node) for node in (node0, node1)]
    check([node0.returncode, node1.returncode] == [0, 0], f"exit codes {node0.returncode} and {node1.returncode}\n{outs}")
    check(outs[0][1].count("--insecure: whoever reaches 127.0.0.1 port") == 1, outs[0][1])
    check(outs[0][1].count("\n") < 40, f"a crowd is named a few times:\n{outs[0][1]}")
    unmoved([errors for _, errors in outs], [])
    # One that has come in that way is node 1; what it says is checked all the same.
    for message in ({"signal": 9}, {"signal": 1000}, report(state=""), report(killed_by=1000000, ended=True), report(rank=0), report(error=HOSTILE, exit_code=-1)):
        port = free_port()
        (folder / "up-0").unlink(missing_ok=True)
        (folder / "go").unlink(missing_ok=True)
        node0 = nodes_of(folder, port, env={})[0]()
        wait_until(lambda: listens(port), "node 0 listens")
        guest = Caller(port, "").prove().say(hello())
        check("kind" in guest.line() and "kind" in guest.line(), "the guest is node 1")
        wait_until(lambda: (folder / "up-0").exists(), "rank 0 runs")
        guest.say(message)
        out, errors = finish(node0)
        guest.close()
        check(node0.returncode == 1 and "node 1 on h is lost: its launcher sent what no launcher sends" in errors, f"{message}: {node0.returncode}\n{out}{errors}")
        unmoved([errors], [])


WAITING_RANK = '''
note(step=1)
open(f"up-{rank}", "w").close()
while not os.path.exists("go"):
    note(step=1)
    time.sleep(0.05)
print("rank", rank, "of", world, "trained", flush=True)
sys.exit(int(os.environ.get("CODE", "0")))
'''


def with_rank(test):
    """The test in a folder that has the rank's program."""
    def run(folder):
        rank_script(folder, WAITING_RANK)
        test(folder)
    run.__name__ = test.__name__
    return run


if __name__ == "__main__":
    run_tests(*map(with_rank, (while_gathering, while_running, exit_codes_are_the_ranks, dripping, false_node_0, few_files, on_the_wire, without_a_secret)))
