"""tessera launch when ranks die, fail or hang, with scripts for ranks: the right rank is named, the others end in time, the world
starts again as often as it may."""
import os
import signal
import socket
import time

from launched import finish, free_port, launch, none_left, rank_script, run_tests, start_launch, wait_until
from support import check

IN_TIME = 10 + 30  # seconds: what is promised, and what a loaded machine may add


def killed(folder):
    script = rank_script(folder, '''
note(step=12, phase="reducing", collective=40, waiting=True)
open(f"pid-{rank}", "w").write(str(os.getpid()))
os.rename(f"pid-{rank}", f"ready-{rank}")
time.sleep(1000)
''')
    process = start_launch("--ranks-per-node", 3, "--", script, cwd=folder)
    wait_until(lambda: all((folder / f"ready-{rank}").exists() for rank in range(3)), "three ranks run")
    began = time.monotonic()
    os.kill(int((folder / "ready-1").read_text()), signal.SIGKILL)
    _, errors = finish(process)
    seconds = time.monotonic() - began
    check(process.returncode == 137, f"exit code {process.returncode}")
    check(errors.count(" failed: ") == 1 and "rank 1 on " in errors and "signal 9 (KILL)" in errors and "step 12, reducing" in errors, errors)
    check(seconds < IN_TIME, f"{seconds:.1f} s")
    none_left(str(script))
    print(f"kill -9 of rank 1 ended all in {seconds:.1f} s: {errors.strip()}")


def failed(folder):
    """The cause is named although the peers fail a moment later, because of it, and rank 0 is the first in every list."""
    script = rank_script(folder, '''
note(step=3, phase="loading", sample=96)
if rank == 1:
    time.sleep(1)
    note(step=3, phase="loading", sample=96, error=b"image 96.png is broken")
    open("failed", "w").close()
    sys.exit(1)
while not os.path.exists("failed"):
    time.sleep(0.01)
time.sleep(0.2)
note(step=3, phase="reducing", error=b"connection closed by peer")
sys.exit(1)
''')
    _, errors, seconds = launch("--ranks-per-node", 3, "--", script, cwd=folder, expect=1)
    check("rank 1 on " in errors and "last error: image 96.png is broken" in errors and "sample 96" in errors, errors)
    check("connection closed" not in errors, errors)
    print(f"failure: {errors.strip()}")


def hung(folder):
    """Rank 2 stops (state T), or sits in a read that never returns; the others wait for it in a collective."""
    for how in ("stopped", "stuck"):
        script = rank_script(folder, f'''
if rank == 2:
    note(step=7, phase="loading", collective=20, sample=55)
    open("{how}", "w").close()
    {"os.kill(os.getpid(), 19)" if how == "stopped" else "os.read(os.pipe()[0], 1)"}
while not os.path.exists("{how}"):
    time.sleep(0.01)
note(step=7, phase="reducing", collective=21, waiting=True, sample=rank)
time.sleep(1000)
''')
        _, errors, seconds = launch("--ranks-per-node", 3, "--hang-timeout", 3, "--", script, cwd=folder, expect=1)
        check("the others wait for rank 2 on " in errors and "sample 55" in errors, errors)
        check(errors.count("reducing") == 2 and ("stopped by a signal" in errors) == (how == "stopped"), errors)
        check(seconds < 3 + IN_TIME, f"{seconds:.1f} s")
        none_left(str(script))
        print(f"{how}: told after {seconds:.1f} s\n{errors.strip()}")


def busy_is_no_hang(folder):
    script = rank_script(folder, '''
note(phase="reducing", waiting=rank == 1)
end = time.monotonic() + 7
while time.monotonic() < end:
    if rank == 1:
        time.sleep(0.1)
''')
    launch("--ranks-per-node", 2, "--hang-timeout", 3, "--", script, cwd=folder)
    print("a long computation is no hang")


def restarts(folder):
    script = rank_script(folder, '''
print("rank", rank, "of", world, "generation", generation, flush=True)
note(step=generation)
if rank == 1 and generation == 0:
    os.kill(os.getpid(), 9)
if rank == 0 and generation == 1:
    sys.exit(1)
''')
    out, errors, _ = launch("--ranks-per-node", 2, "--restarts", 2, "--", script, cwd=folder)
    check([line[-1] for line in out.splitlines()] == ["0", "1", "2"] and "restart 2 of 2" in errors, out + errors)
    check((folder / "logs/rank-01.log").read_text().count("generation") == 3, "the log keeps all generations")
    _, errors, _ = launch("--ranks-per-node", 2, "--restarts", 1, "--", script, cwd=folder, expect=1)
    check("all 1 restarts are used up" in errors, errors)
    print("restarts")


def lost_node(folder):
    """Two nodes; the launcher of the second is killed. Node 0 goes on alone if it may, and ends if it may not."""
    script = rank_script(folder, '''
note(step=generation)
open(f"up-{generation}-{rank}", "w").close()
while world == 3:
    time.sleep(0.1)
print("alone: world of", world, flush=True)
''')
    for flags, code in ((["--restarts", 1, "--min-ranks", 2], 0), (["--restarts", 1], 1)):
        for rank in range(3):
            (folder / f"up-0-{rank}").unlink(missing_ok=True)
        port = free_port()
        nodes = [start_launch("--world-size", 3, "--ranks-per-node", 2, "--node-rank", node, "--master-addr", "127.0.0.1", "--master-port", port, *flags,
                              "--", script, cwd=folder) for node in (0, 1)]
        wait_until(lambda: all((folder / f"up-0-{rank}").exists() for rank in range(3)), "three ranks run")
        nodes[1].kill()
        finish(nodes[1])
        out, errors = finish(nodes[0])
        check(nodes[0].returncode == code, f"exit code {nodes[0].returncode}\n{out}{errors}")
        check("node 1 on " in errors and ("alone: world of 2" in out) == (code == 0), out + errors)
        none_left(str(script))
    print("a lost node")


def wrong_peers(folder):
    with socket.socket() as taken:
        port = free_port()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("", port))
        taken.listen()
        _, errors, _ = launch("--master-port", port, "--", "true", cwd=folder, expect=1)
        check(f"port {port} of this host is in use by another job" in errors, errors)
        two = ["--nnodes", 2, "--ranks-per-node", 1, "--master-addr", "127.0.0.1", "--master-port"]
        _, errors, _ = launch(*two, port, "--node-rank", 0, "--", "true", cwd=folder, expect=1)
        check(f"port {port} of this host is in use by another job" in errors, errors)
    _, errors, _ = launch(*two, port, "--node-rank", 0, "--start-timeout", 1, "--", "true", cwd=folder, expect=1)
    check("1 of 2 nodes did not come" in errors and "node rank 1" in errors, errors)
    _, errors, _ = launch(*two, port, "--node-rank", 1, "--start-timeout", 1, "--", "true", cwd=folder, expect=1)
    check("no launcher of node 0 found" in errors, errors)
    # Nodes of one job, by its secret: both hear what differs, and end. Without a secret it may be anybody: node 0 alone says what differs, and waits.
    for env in ({"TESSERA_JOB_SECRET": "a secret of these two nodes"}, {}):
        nodes = [start_launch(*two, port, "--node-rank", node, "--start-timeout", 300 if env else 10, "--", "echo", node, cwd=folder, env=env) for node in (0, 1)]
        texts = [finish(node)[1] for node in nodes]
        check([node.returncode for node in nodes] == [1, 1] and "'echo 1'" in texts[0] and "'echo 0'" in texts[0], str(texts))
        if env:
            check("'echo 1'" in texts[1] and "'echo 0'" in texts[1], texts[1])
        else:
            check("node 0 says more" in texts[1] and "echo 0" not in texts[1] and "1 of 2 nodes did not come" in texts[0], str(texts))
    print("wrong peers are refused by name")


if __name__ == "__main__":
    run_tests(killed, failed, hung, busy_is_no_hang, restarts, lost_node, wrong_peers)
