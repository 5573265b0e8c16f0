"""A Slurm of one machine, configured and started here: srun, salloc and sbatch."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from cluster import Folder, check, install, program, run, same_curve, train


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """munged, slurmctld and slurmd in a private folder, on free ports; `accounts`: slurmdbd and a MariaDB too, and jobs that are over are soon forgotten."""

    def __init__(self, folder, accounts=False):
        self.folder = pathlib.Path(folder)
        self.accounts = accounts
        self.daemons = []

    def __enter__(self):
        (self.folder / "state").mkdir(parents=True)
        (self.folder / "spool").mkdir()
        self.folder.chmod(0o755)
        key, munge = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start("munged", "-F", "--force", f"--key-file={key}", f"--socket={munge}", f"--pid-file={self.folder}/munge.pid",
                   f"--seed-file={self.folder}/munge.seed", f"--log-file={self.folder}/munge.log")
        self.wait_for(munge.exists, "munged")
        host = socket.gethostname().split(".")[0]
        controller, daemon = free_ports(2)
        storage = self.start_accounts(munge) if self.accounts else "AccountingStorageType=accounting_storage/none\nMinJobAge=36000"
        (self.folder / "slurm.conf").write_text(f"""
ClusterName=tessera
SlurmctldHost={host}(127.0.0.1)
SlurmUser={"root" if os.getuid() == 0 else os.environ["USER"]}
SlurmdUser={"root" if os.getuid() == 0 else os.environ["USER"]}
AuthType=auth/munge
AuthInfo=socket={munge}
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
{storage}
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        if self.accounts:
            self.start("slurmdbd", "-D")
            self.wait_for(lambda: subprocess.run(["sacctmgr", "-i", "add", "cluster", "tessera"], capture_output=True).returncode == 0, "slurmdbd", seconds=120)
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D", "-N", host)
        self.wait_for(lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True).stdout, "an idle node")
        print(run("sinfo").strip())
        return self

    def start_accounts(self, munge):
        """A MariaDB, and the settings of a slurmdbd beside those of Slurm. Returns what Slurm has to know of it."""
        data, (database, port) = self.folder / "database", free_ports(2)
        user = "root" if os.getuid() == 0 else os.environ["USER"]
        run("mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}", "--auth-root-authentication-method=normal", "--skip-test-db")
        self.start("mariadbd", "--no-defaults", f"--datadir={data}", f"--user={user}", f"--socket={data}/socket", "--bind-address=127.0.0.1", f"--port={database}")
        ask = ["mariadb", "--no-defaults", f"--socket={data}/socket", "-u", "root", "-e"]
        self.wait_for(lambda: subprocess.run([*ask, "SELECT 1"], capture_output=True).returncode == 0, "mariadbd", seconds=120)
        run(*ask, "CREATE USER 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO 'slurm'@'127.0.0.1'")
        settings = self.folder / "slurmdbd.conf"
        settings.write_text(f"""
AuthType=auth/munge
AuthInfo=socket={munge}
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={self.folder}/slurmdbd.log
PidFile={self.folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
""")
        settings.chmod(0o600)
        return f"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}\nAccountingStoragePass={munge}\nMinJobAge=2"

    def start(self, *words):
        log = open(self.folder / f"{words[0]}.out", "w")
        self.daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.out"))
            check(time.monotonic() < end, f"no {what} after {seconds} s\n{logs}")
            time.sleep(0.3)

    def __exit__(self, *_):
        subprocess.run(["scancel", "--full", "-u", "root" if os.getuid() == 0 else os.environ["USER"]], stderr=subprocess.DEVNULL)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def wait_for_job(number, slurm):
    slurm.wait_for(lambda: not subprocess.run(["squeue", "-h", "-j", number], capture_output=True, text=True).stdout.strip(), f"end of job {number}", seconds=300)  # two trainings, maybe on a busy machine


def requeued(folder, slurm):
    """A job that Slurm signals shortly before its time is up goes back into the queue by itself, and finishes there."""
    script, run_folder = folder / "again.sh", folder / "again"
    words = [word for word in train(run_folder) if not word.startswith(("train.duration", "checkpoint.every"))]
    words += ["train.duration=3000ba", "checkpoint.every=3000ba", "--requeue"]
    script.write_text("#!/bin/sh\nsrun " + " ".join(f"'{word}'" for word in [program(), *words]) + "\n")
    number = run("sbatch", "--parsable", "-n", 2, "--requeue", "--open-mode=append", "-o", folder / "again.out", script, cwd=folder).strip()
    log, show = run_folder / "log.jsonl", lambda: subprocess.run(["scontrol", "show", "job", number], capture_output=True, text=True).stdout
    slurm.wait_for(lambda: log.exists() and '"train"' in log.read_text(), "first step of the job", seconds=300)
    run("scancel", "--signal=USR1", number)
    slurm.wait_for(lambda: "Restarts=1" in show(), f"requeueing of the job\n{(folder / 'again.out').read_text()}", seconds=120)
    # Slurm lets a job that was requeued wait for two minutes.
    slurm.wait_for(lambda: subprocess.run(["scontrol", "update", f"jobid={number}", "StartTime=now"], capture_output=True).returncode == 0, "start of the job")
    wait_for_job(number, slurm)
    kinds = [line["type"] for line in map(json.loads, log.read_text().splitlines())]
    check("resume" in kinds and '"done"' in log.read_text(), (folder / "again.out").read_text())
    print("  --requeue: signalled, back in the queue, resumed and done")


def main():
    install(("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("srun", "slurm-client"), ("munged", "munge"))
    with Folder() as folder, Slurm(folder / "slurm") as slurm:
        for ranks in (2, 4):
            run("srun", "-n", ranks, program(), *train(folder / f"srun-{ranks}"), cwd=folder)
            same_curve(folder / "alone", folder / f"srun-{ranks}", f"srun -n {ranks}")
        check(not list(folder.glob(".tessera-secret-*")), "the secrets of the steps are gone")
        # The shell of salloc is no rank; srun inside it makes ranks, and the program can make them itself.
        run("salloc", "-n", 2, "srun", program(), *train(folder / "salloc"), cwd=folder)
        same_curve(folder / "alone", folder / "salloc", "salloc -n 2 srun")
        run("salloc", "-n", 2, program(), *train(folder / "inside"), "-p", "ddp", "--ranks", 2, cwd=folder)
        same_curve(folder / "alone", folder / "inside", "salloc -n 2, -p ddp --ranks 2")

        script = folder / "job.sh"
        words = lambda name: " ".join(f"'{word}'" for word in train(folder / name))
        script.write_text(f"#!/bin/sh\nset -e\nenv | grep -c ^SLURM_\nsrun {program()} {words('batch')}\n{program()} launch --ranks-per-node 2 -- {words('batch-launch')}\n")
        number = run("sbatch", "--parsable", "-n", 2, "-o", folder / "job.out", script, cwd=folder).strip()
        wait_for_job(number, slurm)
        print((folder / "job.out").read_text().splitlines()[0], "variables of Slurm in the script of sbatch")
        for name, what in (("batch", "sbatch with srun"), ("batch-launch", "sbatch with tessera launch")):
            check((folder / name / "log.jsonl").exists(), (folder / "job.out").read_text())
            same_curve(folder / "alone", folder / name, what)
        requeued(folder, slurm)
        text = run("srun", "-n", 2, "env", "-u", "SLURM_LOCALID", program(), *train(folder / "bad"), expect=2, cwd=folder)
        check("SLURM_LOCALID is not set" in text, text)
        print("  a missing variable is named")


if __name__ == "__main__":
    main()
