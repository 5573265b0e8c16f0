"""The secret of a job through the program: what is said when it is missing or another, that it and variables are on no command line, what ranks
do without it, and that one host's processes listen on loopback alone."""
import os
import secrets
import signal
import socket
import struct
import subprocess
import time

from launched import clean_environment, finish, free_port, launch, none_left, processes_with, rank_script, run_tests, start_launch, wait_until
from strangers import listening, listens
from support import TINY, check, program

SECRET = secrets.token_hex(32)


def node(folder, port, number, env=None):
    """The launcher of one of two nodes."""
    return start_launch("--nnodes", 2, "--ranks-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port, "--node-rank", number, "--", "sleep", "1000",
                        cwd=folder, env=env)


def wrong_secrets_are_told(folder):
    """Two launchers with different secrets: the second is told, in words that help, and the first goes on waiting."""
    port = free_port()
    node0 = node(folder, port, 0, env={"TESSERA_JOB_SECRET": SECRET})
    for other in ({"TESSERA_JOB_SECRET": "another secret of another job"}, {}):
        node1 = node(folder, port, 1, env=other)
        _, errors = finish(node1)
        check(node1.returncode == 1 and "do not have the same secret" in errors and "TESSERA_JOB_SECRET_FILE" in errors, errors)
    check(node0.poll() is None, "node 0 has ended")
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
    """What one host's processes listen on, no other host can reach: Gloo, and the launcher on two nodes of loopback."""
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
    node0 = node(folder, port, 0)
    wait_until(lambda: listens(port), "node 0 listens")
    check(listening([node0.pid]) == LOOPBACK, f"node 0 listens at {listening([node0.pid])}")
    node0.send_signal(signal.SIGTERM)
    finish(node0)


SHORT = TINY + ["train.duration=5ba", "run.tensorboard=false", "data.threads=1"]


def no_port_for_the_store(folder):
    """Ranks of one host have no port for their store: whoever calls at the master port, all the time, finds nobody, and the run ends well."""
    port, answered = free_port(locked=False), []
    process = start_launch("--ranks-per-node", 2, "--master-port", port, "--", "train", *SHORT, f"run.dir={folder}/run", cwd=folder)
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            answered.append(port)
        except OSError:
            time.sleep(0.001)
    out, errors = finish(process)
    check(process.returncode == 0 and not answered, f"exit code {process.returncode}, answered {len(answered)} times\n{out}{errors}")


def text_of(value):
    return struct.pack("<Q", len(value)) + value


def stranger_at_the_store(folder):
    """On several nodes the store has a port. One who speaks c10d's language there says that all ranks have come, and leaves what is no hello: nobody
    believes it, and the run ends well."""
    port = free_port()
    flags = ["--nnodes", 2, "--ranks-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port]
    nodes = [start_launch(*flags, "--node-rank", number, "--", "train", *SHORT, f"run.dir={folder}/run", cwd=folder, env={"TESSERA_JOB_SECRET": SECRET}) for number in (0, 1)]
    wait_until(lambda: listens(port + 1) or any(node.poll() is not None for node in nodes), "the store listens", timeout=180)
    with socket.create_connection(("127.0.0.1", port + 1), timeout=30) as stranger:
        stranger.sendall(b"\0" + struct.pack("<I", 0x3C85F7CE))  # it may come in
        for rank in (0, 1):
            stranger.sendall(b"\4" + text_of(f"/0/claim/{rank}".encode()) + struct.pack("<q", 1))  # adds one
            check(len(stranger.recv(8)) == 8, "the store counts for the stranger")
        stranger.sendall(b"\1" + text_of(b"/0/hello/7") + text_of(b"nobody"))  # sets
        outs = [finish(node) for node in nodes]
    check([node.returncode for node in nodes] == [0, 0], f"{[node.returncode for node in nodes]}\n{outs}")


def ranks_without_the_secret(folder):
    """Ranks started by hand, one of them without the job's secret: both say so, and nobody trains."""
    port = free_port()
    for other in ({"TESSERA_JOB_SECRET": "another secret of another job"}, {}):
        ranks = []
        for rank, env in enumerate(({"TESSERA_JOB_SECRET": SECRET}, other)):
            place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            ranks.append(subprocess.Popen([program(), "train", *SHORT, f"run.dir={folder}/refused"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True, env={**clean_environment(), **place, **env}))
        for rank in ranks:
            out, errors = finish(rank)
            check(rank.returncode == 1 and "job secret" in errors and SECRET not in errors, f"exit code {rank.returncode}\n{out}{errors}")
        check(not list((folder / "refused").glob("checkpoints/*")), "a rank has trained")


def step_of_srun(folder):
    """With the variables that srun sets: the first process leaves a secret for the others, in a file that is gone when all have it."""
    port = free_port()

    def variables(task, tasks_per_node):
        return {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0", "SLURM_PROCID": str(task), "SLURM_NTASKS": "2", "SLURM_NNODES": str(2 // tasks_per_node),
                "SLURM_NODEID": str(task // tasks_per_node), "SLURM_LOCALID": str(task % tasks_per_node), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "HOME": str(folder)}

    shows = rank_script(folder, 'print("secret", open(os.environ["TESSERA_JOB_SECRET_FILE"]).read(), flush=True)')
    nodes = [start_launch("--ranks-per-node", 1, "--tee", "--", shows, cwd=folder, env=variables(task, 1)) for task in (1, 0)]
    outs = [finish(node) for node in nodes]
    check([node.returncode for node in nodes] == [0, 0], str(outs))
    seen = {out.split()[-1] for out, _ in outs}
    check(len(seen) == 1 and len(seen.pop()) == 64, f"one secret for both nodes: {outs}")
    check(not list(folder.glob(".tessera-secret-*")), "the file is gone")
    for without in ({}, {"TESSERA_INSECURE": "1"}):  # the second rank goes without, and finds that the first does not
        ranks = [subprocess.Popen([program(), "train", *SHORT, f"run.dir={folder}/step{len(without)}"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={**clean_environment(), **variables(task, 2), **(without if task else {})}) for task in (1, 0)]
        outs = [finish(rank) for rank in ranks]
        expected = 1 if without else 0
        check([rank.returncode for rank in ranks] == [expected] * 2, str(outs))
        check(not without or all("another job secret" in errors for _, errors in outs), str(outs))
        check(not list(folder.glob(".tessera-secret-*")), "the file is gone")


if __name__ == "__main__":
    run_tests(wrong_secrets_are_told, nothing_on_command_lines, only_loopback, no_port_for_the_store, stranger_at_the_store, ranks_without_the_secret, step_of_srun)
