"""tessera scale and tessera tune over ssh: two sshd of this machine at addresses of their own, with a key and settings that lie in the test's folder."""
import getpass
import pathlib
import shutil
import subprocess
import tempfile
import time

from cluster import check, install, run
from slurm import free_ports
from studies import kill_again_and_again, no_doubles, same_as, scale, state, study_file, tuned, words

HOSTS = ["127.0.0.1", "127.0.0.2"]


class SshHosts:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = {}

    def __enter__(self):
        self.folder.mkdir()
        self.folder.chmod(0o755)
        for name in ("host_key", "user_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # where sshd gives up its privileges
        (self.port,) = free_ports(1)
        (self.folder / "config").write_text(f"Host *\n Port {self.port}\n User {getpass.getuser()}\n IdentityFile {self.folder}/user_key\n IdentitiesOnly yes\n"
                                            f" UserKnownHostsFile {self.folder}/known_hosts\n StrictHostKeyChecking accept-new\n")
        for host in HOSTS:
            self.start(host)
        self.command = f"ssh -F {self.folder}/config -o BatchMode=yes -o ConnectTimeout=5"
        for host in HOSTS:
            end = time.monotonic() + 20
            while subprocess.run([*self.command.split(), host, "true"], capture_output=True).returncode != 0:
                check(time.monotonic() < end, f"no sshd at {host}: {(self.folder / 'log').read_text()}")
                time.sleep(0.2)
        return self

    def start(self, host):
        self.daemons[host] = subprocess.Popen([shutil.which("sshd"), "-D", "-e", "-f", "/dev/null", "-h", str(self.folder / "host_key"), "-p", str(self.port),
                                               "-o", f"ListenAddress={host}", "-o", f"AuthorizedKeysFile={self.folder}/authorized_keys", "-o", "PidFile=none",
                                               "-o", "StrictModes=no", "-o", "PasswordAuthentication=no", "-o", "UsePAM=no"],
                                              stderr=open(self.folder / "log", "a"))

    def stop(self, host):
        self.daemons[host].terminate()
        self.daemons[host].wait()

    def __exit__(self, *_):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()


def killed(hosts, base, executor):
    study = study_file(base / "killed.json", executor, name="killed", at_once=2, retries=100)
    kill_again_and_again(study, base / "killed", 20, 11)
    same_as(base / "killed", base / "plain", "20 kills")
    no_doubles(base / "killed")


def host_without_answer(hosts, base, executor):
    """One host stops answering while its job runs: the job is not started again, and new ones go to the other host."""
    study = study_file(base / "cut.json", executor, name="cut", at_once=2, repeat=2)
    process = subprocess.Popen(words(study, base / "cut"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 60
    while not list((base / "cut").glob("jobs/*/started/by")):
        check(time.monotonic() < end, "no job")
        time.sleep(0.1)
    first = next((base / "cut").glob("jobs/*/started/by")).read_text().split()[0]
    hosts.stop(first)
    out = process.communicate(timeout=600)[0]
    hosts.start(first)
    check(process.returncode == 0, out)
    check("does not answer" in out or "cannot be reached" in out, out)
    check(all(trial["attempt"] == 1 for trial in state(base / "cut").values()), f"a job of the silent host was started again\n{out}")
    places = {path.read_text().split()[0] for path in (base / "cut").glob("jobs/*/place")}
    print(f"  a host without an answer: its job went on, places {sorted(places)}", flush=True)


def not_shared(hosts, base, executor):
    """A host that has another folder at the same path."""
    ssh = base / "elsewhere"
    ssh.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {hosts.command} "$host" "$(printf %s "$*" | sed s/place/nothing/)"\n')
    ssh.chmod(0o755)
    out = scale(study_file(base / "apart.json", {**executor, "ssh": str(ssh)}, name="apart"), base / "apart", expect=1)
    check("does not see what this one sees" in out, out)
    print("  a folder that is not shared is an error that says so")


def across(hosts, base, executor):
    """Four ranks on two hosts of two."""
    scale(study_file(base / "across.json", executor, name="across", ranks=(1, 4)), base / "across")
    trials = state(base / "across")
    check(all(trial["state"] == "complete" for trial in trials.values()), str(trials))
    place = next((base / "across").glob("jobs/ddp-4-*/place")).read_text().split("\n")
    check(len([line for line in place if line]) == 2, f"one host took it all: {place}")
    print("  a job on two hosts:", "; ".join(line for line in place if line))


def main():
    install(("sshd", "openssh-server"), ("ssh", "openssh-client"))
    base = pathlib.Path(tempfile.mkdtemp(prefix="tessera-ssh-"))
    try:
        with SshHosts(base / "ssh") as hosts:
            executor = {"type": "ssh", "hosts": [f"{host}:2" for host in HOSTS], "ssh": hosts.command, "poll_s": 0.5, "timeout_s": 20, "settle_s": 5}
            print(scale(study_file(base / "plain.json", executor, name="plain"), base / "plain"))
            same_as(base / "plain", base / "plain", "undisturbed")
            killed(hosts, base, executor)
            host_without_answer(hosts, base, executor)
            not_shared(hosts, base, executor)
            across(hosts, base, executor)
            tuned(base, executor, 6)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
