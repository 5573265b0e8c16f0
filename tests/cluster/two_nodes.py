"""Two hosts made of network namespaces joined by a veth pair: launched as two nodes by flags, by variables, by a name that leads node 0 to
loopback, and with --hosts; then a host is lost. Needs root."""
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import time

from cluster import Folder, check, install, program, run, same_curve, train

HOSTS = {"a": "10.77.0.1", "b": "10.77.0.2"}
SECRET = {"TESSERA_JOB_SECRET": secrets.token_hex(32)}


class TwoHosts:
    def __enter__(self):
        self.names = {host: f"tessera-{os.getpid()}-{host}" for host in HOSTS}
        for name in self.names.values():
            run("ip", "netns", "add", name)
        left, right = f"tsr{os.getpid() % 10000}a", f"tsr{os.getpid() % 10000}b"
        run("ip", "link", "add", left, "netns", self.names["a"], "type", "veth", "peer", "name", right, "netns", self.names["b"])
        for host, link in (("a", left), ("b", right)):
            inside = ["ip", "-n", self.names[host]]
            run(*inside, "addr", "add", HOSTS[host] + "/24", "dev", link)
            run(*inside, "link", "set", link, "up")
            run(*inside, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name])

    def listening(self, host):
        """Addresses, in the kernel's hexadecimal, at which anybody on that host listens for TCP."""
        tables = subprocess.run(["ip", "netns", "exec", self.names[host], "cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True).stdout
        return {fields[1].partition(":")[0] for fields in map(str.split, tables.splitlines()) if fields[3] == "0A"}

    def start(self, host, *words, cwd, env=None):
        """On one host, under its own host name."""
        shell = ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c", f'hostname node-{host}; exec "$@"', "sh"]
        return subprocess.Popen([*shell, *map(str, words)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, **(env or {})})


def finish(processes, expect=0):
    texts = [process.communicate(timeout=300)[0] for process in processes]
    codes = [process.returncode for process in processes]
    check(all(code == expect if expect == 0 else code != 0 for code in codes), f"exit codes {codes}\n" + "\n".join(texts))
    return texts


def by_flags(hosts, folder):
    nodes = [hosts.start(host, program(), "launch", "--world-size", 4, "--node-rank", rank, "--master-addr", HOSTS["a"], "--master-port", 29500,
                         "--ranks-per-node", 2, "--", *train(folder / "flags"), cwd=folder, env=SECRET) for rank, host in enumerate(HOSTS)]
    seen = set()
    while any(node.poll() is None for node in nodes):
        seen |= hosts.listening("a")
        time.sleep(0.05)
    finish(nodes)
    same_curve(folder / "alone", folder / "flags", "two nodes by flags, 4 ranks")
    check(seen == {"01004D0A"}, f"launcher, store and Gloo listen at the master's address {HOSTS['a']} alone, not at {seen} (the kernel's hexadecimal)")


def by_variables(hosts, folder):
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": HOSTS["a"], "MASTER_PORT": "29500"}
    nodes = [hosts.start(host, program(), "launch", "--ranks-per-node", 1, "--", *train(folder / "variables"), cwd=folder,
                         env={**variables, **SECRET, "NODE_RANK": str(rank)}) for rank, host in enumerate(HOSTS)]
    finish(nodes)
    same_curve(folder / "alone", folder / "variables", "two nodes by variables, 2 ranks")


def by_name(hosts, folder):
    """Host a knows itself as 127.0.1.1, as some installers set it up; host b knows it by its address."""
    for host, address in (("a", "127.0.1.1"), ("b", HOSTS["a"])):
        own = pathlib.Path("/etc/netns") / hosts.names[host]
        own.mkdir(parents=True)
        (own / "hosts").write_text(f"127.0.0.1 localhost\n{address} node-a\n{HOSTS['b']} node-b\n")
    try:
        nodes = [hosts.start(host, program(), "launch", "--nnodes", 2, "--node-rank", rank, "--master-addr", "node-a", "--master-port", 29500, "--ranks-per-node", 1,
                             "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE", cwd=folder, env=SECRET) for rank, host in enumerate(HOSTS)]
        texts = finish(nodes)
        check("rank 0 of 2" in texts[0], str(texts))
    finally:
        for name in hosts.names.values():
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)
    print("  a name that leads node 0 to loopback")


def needs_a_secret(hosts, folder):
    node = hosts.start("a", program(), "launch", "--nnodes", 2, "--node-rank", 0, "--master-addr", HOSTS["a"], "--master-port", 29500, "--ranks-per-node", 1, "--", "true",
                       cwd=folder)
    text = finish([node], expect=2)[0]
    check("TESSERA_JOB_SECRET_FILE=FILE" in text and "--insecure" in text, text)
    nodes = [hosts.start(host, program(), "launch", "--nnodes", 2, "--node-rank", rank, "--master-addr", HOSTS["a"], "--master-port", 29500, "--ranks-per-node", 1,
                         "--insecure", "--", "true", cwd=folder) for rank, host in enumerate(HOSTS)]
    check("--insecure: whoever reaches" in finish(nodes)[0], "the risk is said")
    print("  several hosts need a secret, or --insecure")


def by_hosts(hosts, folder):
    ssh = folder / "ssh"
    names = "; ".join(f"[ $1 = {HOSTS[host]} ] && n={name} && h=node-{host}" for host, name in hosts.names.items())
    ssh.write_text(f'#!/bin/sh\n{names}\nexec ip netns exec $n unshare --uts sh -c "hostname $h; $2"\n')
    ssh.chmod(0o755)
    run(program(), "launch", "--hosts", ",".join(f"{address}:2" for address in HOSTS.values()), "--ssh", ssh, "--", *train(folder / "hosts"), cwd=folder)
    same_curve(folder / "alone", folder / "hosts", "--hosts, 4 ranks")


def lost_host(hosts, folder):
    """Host b vanishes in the middle, as by a power cut; host a goes on with its own ranks from the last checkpoint."""
    words = [*train(folder / "lost"), "train.duration=400ba", "checkpoint.every=20ba", "eval.every=400ba"]
    nodes = [hosts.start(host, program(), "launch", "--nnodes", 2, "--node-rank", rank, "--master-addr", HOSTS["a"], "--master-port", 29500,
                         "--ranks-per-node", 1, "--restarts", 1, "--min-ranks", 1, "--", *words, cwd=folder, env=SECRET) for rank, host in enumerate(HOSTS)]
    end = time.monotonic() + 120
    while not list((folder / "lost/checkpoints").glob("step-*/DONE")):
        check(time.monotonic() < end and nodes[0].poll() is None, "no checkpoint came")
        time.sleep(0.1)
    began = time.monotonic()
    link = subprocess.run(["ip", "-n", hosts.names["b"], "-o", "link", "show", "type", "veth"], capture_output=True, text=True).stdout.split()[1].split("@")[0]
    run("ip", "-n", hosts.names["b"], "link", "set", link, "down")
    text = nodes[0].communicate(timeout=300)[0]
    check(nodes[0].returncode == 0, text)
    check("node 1 on node-b is lost" in text and "starting again with 1 ranks" in text, text)
    lost = nodes[1].communicate(timeout=60)[0]
    check(nodes[1].returncode != 0 and "the launcher of node 0" in lost, lost)
    print(f"  a lost host: the other finished alone {time.monotonic() - began:.0f} s later")
    run("ip", "-n", hosts.names["b"], "link", "set", link, "up")


def main():
    install(("ip", "iproute2"))
    with Folder() as folder, TwoHosts() as hosts:
        by_flags(hosts, folder)
        by_variables(hosts, folder)
        by_name(hosts, folder)
        needs_a_secret(hosts, folder)
        by_hosts(hosts, folder)
        lost_host(hosts, folder)


if __name__ == "__main__":
    main()
