"""tessera launch without faults: what ranks find in their environment, where their output goes, several nodes by flags, by variables
and over a stand-in for ssh, signals, and that no process is left behind."""
import os
import signal
import subprocess

from launched import finish, free_port, launch, none_left, processes_with, rank_script, run_tests, start_launch, wait_until
from rank_kills import ranks_of
from support import TINY, check, log_lines

SHOW = "echo rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $NODE_RANK at $MASTER_ADDR generation $TESSERA_GENERATION"


def one_host(folder):
    out, _, _ = launch("--ranks-per-node", 3, "--", "sh", "-c", SHOW + "; echo problem $RANK >&2", cwd=folder)
    check(out == "rank 0/3 local 0/3 node 0 at 127.0.0.1 generation 0\n", out)
    for rank in range(3):
        text = (folder / f"logs/rank-{rank:02}.log").read_text()
        check(f"rank {rank}/3 local {rank}/3" in text and f"problem {rank}" in text, text)
    out, errors, _ = launch("--ranks-per-node", 2, "--tee", "--log-dir", "elsewhere", "--", "sh", "-c", "echo a; echo b; echo c >&2", cwd=folder)
    check(sorted(out.splitlines()) == ["[rank 0] a", "[rank 0] b", "[rank 1] a", "[rank 1] b"], out)
    check(sorted(line for line in errors.splitlines() if "[rank" in line) == ["[rank 0] c", "[rank 1] c"], errors)
    check((folder / "elsewhere/rank-01.log").read_text().startswith("a\nb\n"), "the log of rank 1")
    print("one host: environment, logs, --tee")


def cores_are_shared(folder):
    cores = sorted(os.sched_getaffinity(0))
    out, _, _ = launch("--ranks-per-node", 2, "--tee", "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status; echo threads $OMP_NUM_THREADS", cwd=folder,
                       env={"OMP_NUM_THREADS": ""})
    lists = [line.split()[-1] for line in out.splitlines() if "Cpus_allowed_list" in line]
    check(len(lists) == 2, out)
    if len(cores) == 2 and len(set(lists)) == 2:
        check(sorted(lists) == [str(core) for core in cores], out)
    check(out.count("threads ") == 2 and "threads \n" not in out, out)
    out, _, _ = launch("--ranks-per-node", len(cores) + 1, "--tee", "--", "grep", "Cpus_allowed_list", "/proc/self/status", cwd=folder)
    check(len({line.split()[-1] for line in out.splitlines()}) == 1, f"more ranks than cores must not be bound: {out}")
    print(f"cores: {' and '.join(lists)}")


def two_nodes(folder):
    place = lambda node: ["--node-rank", node, "--master-addr", "127.0.0.1"]
    for way in ("flags", "variables"):
        port = free_port()
        nodes = []
        for node in (1, 0):
            flags, env = ["--ranks-per-node", 2, "--tee", "--log-dir", f"logs-{way}"], {}
            if way == "flags":
                flags += ["--world-size", 3, *place(node), "--master-port", port]
            else:
                env = {"WORLD_SIZE": "3", "NODE_RANK": str(node), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            nodes.append(start_launch(*flags, "--", "sh", "-c", SHOW, cwd=folder, env=env))
        outs = [finish(node) for node in nodes]
        check([node.returncode for node in nodes] == [0, 0], str(outs))
        check(outs[0][0] == "[rank 2] rank 2/3 local 0/1 node 1 at 127.0.0.1 generation 0\n", str(outs[0]))
        check(sorted(outs[1][0].splitlines())[1] == "[rank 1] rank 1/3 local 1/2 node 0 at 127.0.0.1 generation 0", str(outs[1]))
        print(f"two nodes by {way}")


def hosts_over_ssh(folder):
    ssh = folder / "fake ssh".replace(" ", "-")
    ssh.write_text('#!/bin/sh\necho "$1" >> calls\nexec sh -c "$2"\n')
    ssh.chmod(0o755)
    out, _, _ = launch("--hosts", "127.0.0.1:1,127.0.0.2:2", "--ssh", ssh, "--tee", "--", "sh", "-c", SHOW + " it\\'s $TESSERA_WORD", cwd=folder,
                       env={"TESSERA_WORD": "two words"})
    check(sorted(out.splitlines())[2] == "[rank 2] rank 2/3 local 1/2 node 1 at 127.0.0.1 generation 0 it's two words", out)
    check(sorted((folder / "calls").read_text().split()) == ["127.0.0.1", "127.0.0.2"], "hosts called")
    (folder / "hosts").write_text("127.0.0.1 slots=1 # this one\n127.0.0.2:1\n")
    _, errors, _ = launch("--hostfile", "hosts", "--ssh", ssh, "--", "sh", "-c", "test $RANK = 0 || exit 5; sleep 1000", cwd=folder, expect=5)
    check(errors.count("rank 1 on ") == 1, errors)
    _, errors, _ = launch("--hosts", "127.0.0.1:1,127.0.0.2:1", "--ssh", "false", "--", "true", cwd=folder, expect=1)
    check("the launcher of node" in errors, errors)
    # A starter that is killed takes its hosts along.
    process = start_launch("--hosts", "127.0.0.1:1,127.0.0.2:1", "--ssh", ssh, "--", "sh", "-c", f"sleep 1000 # {folder}/marker", cwd=folder)
    wait_until(lambda: len([p for p in processes_with(f"{folder}/marker")]) >= 4, "two launchers and two ranks run")
    process.kill()
    finish(process)
    none_left(f"{folder}/marker")
    print("hosts over ssh")


def orders_over_stdin(folder):
    """What a launcher on a remote host does when the one that started it speaks to it, or goes away."""
    word = f"{folder}/ordered"
    for order, code in (("signal 15\n", 143), ("", 1)):
        process = start_launch("--reads-stdin", "--ranks-per-node", 2, "--", "sh", "-c", f"touch up-$RANK; exec sleep 1000 # {word}", cwd=folder, stdin=subprocess.PIPE)
        wait_until(lambda: all((folder / f"up-{rank}").exists() for rank in range(2)), "ranks run")
        for rank in range(2):
            (folder / f"up-{rank}").unlink()
        process.stdin.write(order)
        process.stdin.flush()
        if not order:
            process.stdin.close()
            process.stdin = None
        wait_until(lambda: process.poll() is not None, "the launcher ends")
        check(process.returncode == code, f"exit code {process.returncode} after {order!r}")
        none_left(word)
    print("a launcher obeys its starter and ends with it")


def signals(folder):
    script = rank_script(folder, '''
import signal
count = 0
def stop(number, frame):
    global count
    count += 1
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, stop)
print("ready", flush=True)
open(f"ready-{rank}", "w").close()
while count == 0:
    time.sleep(0.05)
time.sleep(1)
print("signals", count, flush=True)
sys.exit(128 + int(sys.argv[1]))
''')
    for number in (signal.SIGINT, signal.SIGTERM):
        for rank in range(2):
            (folder / f"ready-{rank}").unlink(missing_ok=True)
        process = start_launch("--ranks-per-node", 2, "--tee", "--", script, int(number), cwd=folder)
        wait_until(lambda: all((folder / f"ready-{rank}").exists() for rank in range(2)), "ranks are ready")
        process.send_signal(number)
        out, errors = finish(process)
        check(process.returncode == 128 + number, f"exit code {process.returncode}\n{out}{errors}")
        check(out.count("signals 1\n") == 2, f"each rank gets the signal once:\n{out}")
        print(f"{number.name}: reached each rank once, exit code {process.returncode}")


def signalled_by_a_scheduler(folder):
    """The signal goes to the launcher and to the ranks, who so get it twice: they save and end as after one."""
    tag = f"{os.getpid()}-scheduler"
    options = TINY + ["train.duration=100000ba", "checkpoint.every=5ba", "eval.every=0ba", "run.tensorboard=false", "data.threads=1"]
    process = start_launch("--ranks-per-node", 2, "--log-dir", folder / "scheduled-logs", "--", "train", *options, f"run.dir={folder}/scheduled", cwd=folder,
                           env={"TESSERA_TEST_RUN": tag})
    wait_until(lambda: any((folder / "scheduled/checkpoints").glob("step-*/DONE")), "training is under way")
    for pid in [*ranks_of(tag), process.pid]:
        os.kill(pid, signal.SIGTERM)
    out, errors = finish(process)
    check(process.returncode == 143, f"exit code {process.returncode}\n{out}{errors}")
    check(log_lines(folder / "scheduled")[-1].get("status") == "stopped", f"the run did not save and stop:\n{log_lines(folder / 'scheduled')[-1]}\n{errors}")
    print("signal to launcher and ranks: the run saved once and ended with 143")


def nothing_is_left(folder):
    word = f"{folder}/left"
    process = start_launch("--ranks-per-node", 2, "--", "sh", "-c", f"sleep 1000 & sh -c 'sleep 1000; : {word}'", cwd=folder)
    wait_until(lambda: len(processes_with(word)) >= 5, "the launcher, two ranks and their children run")
    process.kill()
    finish(process)
    none_left(word)
    print("kill -9 of the launcher leaves nothing")


def usage(folder):
    for arguments, word in ((["--world-size", 4, "--ranks-per-node", 2, "--", "true"], "--master-addr (MASTER_ADDR)"), ([], "nothing to launch"),
                            (["--min-ranks", 1, "--", "true"], "--restarts"), (["--hosts", "a:x", "--", "true"], "a:x"),
                            (["--hosts", "a", "--hostfile", "b", "--", "true"], "give one of them")):
        _, errors, _ = launch(*arguments, cwd=folder, expect=2)
        check(word in errors, errors)
    _, errors, _ = launch("--", "true", cwd=folder, expect=2, env={"WORLD_SIZE": "many"})
    check("WORLD_SIZE=many" in errors, errors)
    _, errors, _ = launch("--", "no-such-program", cwd=folder, expect=1)
    check("no-such-program" in errors, errors)
    out, _, _ = launch("--ranks-per-node", 2, "--", "--version", cwd=folder)
    check(out.startswith("tessera "), f"an own command needs no path: {out}")


if __name__ == "__main__":
    run_tests(one_host, cores_are_shared, two_nodes, hosts_over_ssh, orders_over_stdin, signals, signalled_by_a_scheduler, nothing_is_left, usage)
