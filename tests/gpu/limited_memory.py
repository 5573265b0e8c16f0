"""Trainings, an evaluation, a prediction and two ranks on a device of which they may use less and less memory: smaller passes, activation
checkpointing, then an error that says what to set. Wherever a run ends well, its losses (float64, to 1e-9), metrics and classes are those of
the run with all of the memory; nothing hangs.

  python3 tests/gpu/limited_memory.py PROGRAM                 one NVIDIA GPU, also for the two ranks (NCCL)
  python3 tests/gpu/limited_memory.py PROGRAM --device cpu    in control groups (root), two ranks over Gloo
  ... --only passes checkpointing evaluation prediction meeting ranks    parts of it, which go on where another failed
  ... --jobs 6 --seconds 140    programs at a time; what runs beyond that many seconds in all is shown with its threads, and ended
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "regression"))
from control_group import control_group  # noqa: E402
from support import check, log_lines, write_png  # noqa: E402

TOLERANCE = 1e-9
PHASES = ("starting", "meeting", "loading", "forward", "backward", "reducing", "optimizer", "evaluating", "saving", "ending")  # core/rank_status.h
LESS_MEMORY = {"going on with micro-batches": "smaller passes", "with activation checkpointing": "activation checkpointing",
               "all ranks do it again": "met again", "at a time: nothing is lost": "fewer at a time", "it is predicted in windows": "windows"}


class Gpu:
    """The first GPU: libtorch's allocator takes a limit from the environment."""
    name, jobs, time_limit = "cuda", 6, 90  # seconds for a program, of which none takes half: what takes longer hangs
    sizes = {"size": 128, "channels": "[32,64,128]", "batch": 32, "unit": 4, "steps": 4, "eval_size": 768, "image": 1600, "window": 256,
             "windows": 64}

    def __init__(self, program):
        described = subprocess.run([program, "doctor"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"^gpu 0 .*, ([0-9.]+) GiB", described, re.MULTILINE)
        if not found:
            print("no GPU: skipped")
            raise SystemExit(77)
        self.all = float(found.group(1)) * 2**30

    @contextlib.contextmanager
    def limited(self, limit):
        yield {} if limit is None else {"env": {"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{limit / self.all:.7f}"}}

    def peak(self, run, _):
        return max(line["memory_mb"] for line in log_lines(run) if line["type"] == "train") * 1e6

    def between(self, most, fewest):
        """Limits for a training that takes so much at once, and so much at least."""
        return [fewest + share * (most - fewest) for share in (0.8, 0.5, 0.25, -0.1)] + [0.6 * fewest]

    def less(self, _):  # than an evaluation or a prediction wants; what that is nobody counts
        return [gib * 2**30 for gib in (4, 1.5, 0.7)]


class Cpu:
    """The host's memory, in a control group for each program."""
    name, jobs, time_limit = "cpu", 1, 150
    sizes = {"size": 96, "channels": "[16,32]", "batch": 16, "unit": 2, "steps": 3, "eval_size": 384, "image": 900, "window": 192,
             "windows": 16}

    @contextlib.contextmanager
    def limited(self, limit):
        with control_group(limit) as group:
            yield {"preexec_fn": group.enter, "group": group}

    def peak(self, _, group_peak):
        return group_peak

    def between(self, most, _):  # what is kept for later counts in both
        return [share * most for share in (0.7, 0.62, 0.56, 0.5, 0.4)]

    def less(self, peak):
        return [share * peak for share in (0.7, 0.55, 0.45)]


def what_it_does(process, status):
    """Where a program hangs: its status, and the stacks of its threads as far as a debugger is there."""
    with contextlib.suppress(OSError, struct.error):
        step, collective, _, phase, waiting = struct.unpack_from("<qqqi?", status.read_bytes())
        yield f"step {step}, {PHASES[phase]}, collective {collective}{', waiting for its peers' if waiting else ''}"
    for task in sorted(pathlib.Path(f"/proc/{process.pid}/task").glob("*")):
        with contextlib.suppress(OSError):
            yield f"thread {task.name} {(task / 'comm').read_text().strip()}: in {(task / 'wchan').read_text()}, system call {(task / 'syscall').read_text().split()[0]}"
    debugger = shutil.which("gdb") or shutil.which("cuda-gdb")
    if debugger:
        with contextlib.suppress(subprocess.TimeoutExpired):
            yield subprocess.run([debugger, "-p", str(process.pid), "-batch", "-ex", "thread apply all bt 30"], capture_output=True, text=True,
                                 errors="replace", timeout=30).stdout


class Ended:
    """A program that has ended: its exit code, what it said, and on a CPU the memory it took."""

    def __init__(self, code, out, text, peak):
        self.code, self.out, self.text, self.peak = code, out, text, peak
        self.ways = {way for words, way in LESS_MEMORY.items() if words in text}


class Tests:
    def __init__(self, program, device, folder, jobs, seconds):
        self.program, self.device, self.folder = program, device, folder
        self.slots = threading.Semaphore(jobs)
        self.end = time.monotonic() + seconds

    def run(self, arguments, limit=None, environment=None):
        """Runs the program within a limit of memory; it may not take for ever."""
        with self.device.limited(limit) as how:
            group = how.pop("group", None)
            status = self.folder / f"status-{threading.get_ident()}"
            how["env"] = {**os.environ, "TESSERA_STATUS_FILE": str(status), **how.get("env", {}), **(environment or {})}
            left = min(self.device.time_limit, self.end - time.monotonic())
            check(left > 5, "no time is left")
            process = subprocess.Popen([self.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       errors="replace", **how)
            try:
                out, text = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                shown = "\n".join(what_it_does(process, status))
                process.kill()
                _, text = process.communicate()
                check(False, f"has not ended after {left:.0f} s: {' '.join(map(str, arguments))}, limit {limit}\n{text}\n{shown}")
            check(group is None or group.kills() == 0, f"the system killed {' '.join(map(str, arguments))}, limit {limit}\n{text}")
            return Ended(process.returncode, out, text, group.peak() if group else None)

    def train_options(self, unit):
        sizes = self.device.sizes
        return ["train", "data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.num_classes=4", f"data.synthetic.size={sizes['size']}",
                "data.train.count=64", "data.val.count=0", f"data.train.transforms=[{{random_crop: {{size: {sizes['size']}}}}}, flip]",
                f"model.unet.channels={sizes['channels']}", f"train.batch_size={sizes['batch']}", f"train.norm_group={unit}", "train.precision=fp64",
                f"train.duration={sizes['steps']}ba", "run.log_every=1ba", "eval.every=0ba", "run.pictures=0", "run.tensorboard=false",
                "optimizer.type=adamw", "optimizer.eps=1e-4", "loss.type=ce_dice", f"train.device={self.device.name}", "dist.timeout_s=120"]

    def train(self, name, unit, limit=None, options=()):
        with self.slots:
            return self.run([*self.train_options(unit), f"run.dir={self.folder / name}", *options], limit)

    def need(self, name, ended):
        """The memory that a training takes which ended well."""
        check(ended.code == 0, f"{name}: exit code {ended.code}\n{ended.text}")
        return self.device.peak(self.folder / name, ended.peak)

    def same_losses(self, name, reference):
        expected, found = ([line["loss"] for line in log_lines(self.folder / run) if line["type"] == "train"] for run in (reference, name))
        check(len(found) == len(expected) == self.device.sizes["steps"], f"{name}: {len(found)} steps are logged, {len(expected)} of {reference}")
        worst = max(abs(a - b) / abs(a) for a, b in zip(expected, found))
        check(worst < TOLERANCE, f"{name}: a loss differs by {worst:.1e} from {reference}'s")
        return worst

    def judge(self, name, reference, limit, ended):
        """A training in little memory gave the same losses, or said what to set. Returns the ways it found."""
        text = f"{name}: {limit / 1e6:.0f} MB"
        if ended.code == 0:
            worst = self.same_losses(name, reference)
            print(f"{text}: {', '.join(sorted(ended.ways)) or 'all at once'}; losses within {worst:.1e}")
            return ended.ways
        check(ended.code == 1 and "out of memory" in ended.text and "train.norm_group" in ended.text, f"{text}: exit code {ended.code}\n{ended.text}")
        print(f"{text}: too little, and it says so")
        return set()

    def passes(self, pool):
        """Units of which several fit at first."""
        unit = self.device.sizes["unit"]
        self.training(pool, unit, [f"train.micro_batch={unit}"], "smaller passes")

    def checkpointing(self, pool):
        """One unit that cannot be cut."""
        self.training(pool, self.device.sizes["batch"], ["model.unet.checkpoint=true"], "activation checkpointing")

    def training(self, pool, unit, least, way):
        whole, small = f"unit{unit}", f"unit{unit}-least"
        ends = [pool.submit(self.train, whole, unit), pool.submit(self.train, small, unit, None, least)]
        most, fewest = (self.need(name, end.result()) for name, end in zip((whole, small), ends))
        self.same_losses(small, whole)
        print(f"{whole}: takes {most / 1e6:.0f} MB, at least {fewest / 1e6:.0f} MB")
        limits = self.device.between(most, fewest)
        ends = [pool.submit(self.train, f"{whole}-{i}", unit, limit) for i, limit in enumerate(limits)]
        ways = [self.judge(f"{whole}-{i}", whole, limits[i], end.result()) for i, end in enumerate(ends)]
        check(any(way in found for found in ways), f"{whole}: expected {way} within one of {limits} bytes, found {ways}")

    def trained(self):
        """A run to evaluate and to predict with."""
        name = "trained"
        if not (self.folder / name).exists():
            ended = self.train(name, self.device.sizes["unit"], options=["train.duration=4ba"])
            check(ended.code == 0, ended.text)
        return self.folder / name

    def evaluation(self, pool):
        run, sizes = self.trained(), self.device.sizes
        arguments = ["eval", "-w", run, "--json", f"data.synthetic.size={sizes['eval_size']}", "data.val.count=8", "eval.batch_size=8",
                     "eval.window.size=0", "data.val.transforms=[]"]

        def evaluate(limit=None):
            with self.slots:
                return self.run(arguments, limit)

        def metrics(ended):
            check(ended.code == 0, f"evaluation: exit code {ended.code}\n{ended.text}")
            return {**json.loads(ended.out), "seconds": 0}

        whole = evaluate()
        expected, ways = metrics(whole), set()
        limits = self.device.less(whole.peak)
        for limit, end in zip(limits, [pool.submit(evaluate, limit) for limit in limits]):
            ended = end.result()
            if "windows" not in ended.ways:  # of windows a few pixels differ
                check(metrics(ended) == expected, f"evaluation within {limit} bytes: {metrics(ended)}\n{expected}")
            metrics(ended)
            ways |= ended.ways
            print(f"evaluation: {limit / 1e6:.0f} MB: {', '.join(sorted(ended.ways)) or 'all at once'}")
        check("fewer at a time" in ways, "evaluation: memory never ran out")

    def prediction(self, pool):
        run, side, window = self.trained(), self.device.sizes["image"], self.device.sizes["window"]
        image = self.folder / "image.png"
        row = [[(x * 3) % 256, (x * x) % 256, (x ^ 170) % 256] for x in range(side)]
        write_png(image, side, side, lambda y, x: row[(x + 7 * y) % side], channels=3)

        def predict(name, limit=None):
            with self.slots:
                return self.run(["predict", "-w", run, "-o", self.folder / name, image, "--set", f"eval.window.size={window}", "--set",
                                 f"eval.window.batch={self.device.sizes['windows']}"], limit)

        whole, ways = predict("whole"), set()
        check(whole.code == 0, whole.text)
        limits = self.device.less(whole.peak)
        for i, end in enumerate([pool.submit(predict, f"predicted{i}", limit) for i, limit in enumerate(limits)]):
            ended = end.result()
            check(ended.code == 0, f"prediction within {limits[i]} bytes: exit code {ended.code}\n{ended.text}")
            if "windows" not in ended.ways:
                check((self.folder / f"predicted{i}/image.png").read_bytes() == (self.folder / "whole/image.png").read_bytes(), "the classes differ")
            ways |= ended.ways
            print(f"prediction: {limits[i] / 1e6:.0f} MB: {', '.join(sorted(ended.ways)) or 'all at once'}")
        check("fewer at a time" in ways, "prediction: memory never ran out")

    def two_ranks(self, name, unit, limits, options=()):
        """A training of two ranks, each within its own limit. What both said."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        place = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        arguments = [*self.train_options(unit), f"run.dir={self.folder / name}", "-p", "ddp", "-d", "0" if self.device.name == "cuda" else "cpu", *options]
        with self.slots, concurrent.futures.ThreadPoolExecutor() as ranks:
            ends = [ranks.submit(self.run, arguments, limit, {**place, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank, limit in enumerate(limits)]
            return [end.result() for end in ends]

    def meeting(self, pool):
        """Units that two ranks compute together, so that what one of them lacks concerns both."""
        self.training_of_two(pool, self.device.sizes["batch"], ["model.unet.checkpoint=true"], "met again")

    def ranks(self, pool):
        """Two ranks with units of their own."""
        unit = self.device.sizes["unit"]
        self.training_of_two(pool, unit, [f"train.micro_batch={unit}"], "smaller passes")

    def training_of_two(self, pool, unit, least, way):
        whole, small = f"ranks-unit{unit}", f"ranks-unit{unit}-least"
        alone = pool.submit(self.train, f"{whole}-alone", unit)
        ends = [pool.submit(self.two_ranks, name, unit, (None, None), options) for name, options in ((whole, ()), (small, least))]
        most, fewest = (max(self.need(name, rank) for rank in end.result()) for name, end in zip((whole, small), ends))
        self.need(f"{whole}-alone", alone.result())
        print(f"{whole}: takes {most / 1e6:.0f} MB, at least {fewest / 1e6:.0f} MB; losses within {self.same_losses(whole, f'{whole}-alone'):.1e} of one rank's")
        for who, is_limited in (("the second", (False, True)), ("both", (True, True))):
            ways = set()
            for i, limit in enumerate(self.device.between(most, fewest)):
                ways |= self.limited_ranks(f"{whole}-{is_limited[0]}-{i}", unit, [limit if limited else None for limited in is_limited], f"{whole}-alone")
                if way in ways:
                    break
            check(way in ways, f"{whole}: expected {way} where {who} has little memory, found {ways}")

    def limited_ranks(self, name, unit, limits, reference):
        ranks = self.two_ranks(name, unit, limits)
        ways = set().union(*(rank.ways for rank in ranks))
        shown = " and ".join("all memory" if limit is None else f"{limit / 1e6:.0f} MB" for limit in limits)
        if any(rank.code != 0 for rank in ranks):
            texts = "\n".join(f"rank {i}: exit code {rank.code}\n{rank.text}" for i, rank in enumerate(ranks))
            check(all(rank.code == 1 for rank in ranks) and any("train.norm_group" in rank.text for rank in ranks), f"{name}: {shown}\n{texts}")
            print(f"{name}: {shown}: too little, and it says so")
            return set()
        print(f"{name}: {shown}: {', '.join(sorted(ways)) or 'all at once'}; losses within {self.same_losses(name, reference):.1e}")
        return ways


def main():
    parts = ("passes", "checkpointing", "evaluation", "prediction", "meeting", "ranks")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--jobs", type=int, help="programs at a time")
    parser.add_argument("--seconds", type=float, default=3600, help="for all of it")
    asked = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # whoever ends this has read what there was
    device = Gpu(asked.program) if asked.device == "cuda" else Cpu()
    failed = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(16) as pool:
        tests = Tests(asked.program, device, pathlib.Path(folder), asked.jobs or device.jobs, asked.seconds)
        for part in (part for part in parts if part in asked.only):
            begin = time.monotonic()
            try:
                getattr(tests, part)(pool)
            except SystemExit as failure:
                failed.append(part)
                print(failure)
            print(f"{part}: {time.monotonic() - begin:.0f} s{', FAILED' if part in failed else ''}")
    check(not failed, " ".join(failed))


if __name__ == "__main__":
    main()
