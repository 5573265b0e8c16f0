"""One training and two at a time on the same CPUs, ours and PyTorch's: bench/two_runs.py BUILD_DIR [OUT.json].

Threads that wait for one another spin; two programs that do so hinder each other by more than half. Two U-Nets: a small one, whose loops
are short, and the demo's. Each is measured alone and as a pair that starts together: as it comes, and with threads that always sleep
(OMP_WAIT_POLICY=passive). Images a second are of all runs of a row together, so a pair that shares fairly reaches those of a lone run. The
load that others put on these CPUs is looked at before each measurement, waited for up to --patience seconds to end, and recorded.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from cpu_step import CASES
from runs import last_json, ours_command, peer_command

WARMUP, QUIET = 10, 0.2  # QUIET: CPUs that others may use
SIZES = {
    "small": ["model.unet.channels=[8,16,32]", "model.unet.bottleneck=64", "data.synthetic.size=96", "train.batch_size=4", "train.norm_group=4"],
    "demo": [],
}
WAYS = {"as it comes": {}, "passive": {"OMP_WAIT_POLICY": "passive"}}


def busy_cpus(seconds=1.0):
    """CPUs that are busy while we only wait, of those that we may use."""
    own = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}

    def ticks():
        total = 0
        for line in pathlib.Path("/proc/stat").read_text().splitlines():
            name, *counts = line.split()
            if name in own:
                user, nice, system, _, _, irq, soft = map(int, counts[:7])
                total += user + nice + system + irq + soft
        return total

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def wait_for_quiet(patience):
    end = time.monotonic() + patience
    while (load := busy_cpus()) > QUIET and time.monotonic() < end:
        pass
    return load


def together(command, count, variables):
    """Results of `count` processes that run at the same time."""
    running = [subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **variables}) for _ in range(count)]
    outputs = [process.communicate() for process in running]
    for process, (out, errors) in zip(running, outputs):
        if process.returncode != 0:
            raise SystemExit(f"{command} failed:\n{out[-2000:]}\n{errors[-4000:]}")
    return [json.loads(out[out.index("{"):]) for out, _ in outputs]


def main(options):
    rows, environment = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for size, overrides in SIZES.items():
            dump, case = pathlib.Path(folder) / f"{size}.safetensors", CASES["unet"]
            ours = ours_command(options.build, case["config"], [*case["overrides"], *overrides, "train.device=cpu", "train.precision=fp32"], options.steps, WARMUP, dump)
            first = last_json(ours)  # writes the weights and the batch that the peer starts from
            environment = first["environment"]
            batch = first["images_per_s"] * first["ms_median"] / 1000
            commands = {"tessera": ours, "pytorch": peer_command(dump, "unet", [*case["peer"], "--device", "cpu", "--precision", "fp32"], False, options.steps, WARMUP)}
            found = {}
            for _ in range(options.rounds):
                for kind, command in commands.items():
                    for way, variables in WAYS.items():
                        for count in (1, 2):
                            load = wait_for_quiet(options.patience)
                            speed = sum(1000 * batch / result["ms_median"] for result in together(command, count, variables))
                            found.setdefault((kind, way, count), []).append((speed, load))
            for (kind, way, count), measured in found.items():
                speeds, loads = zip(*measured)
                rows.append({"size": size, "kind": kind, "way": way, "runs": count, "images_per_s": statistics.median(speeds), "all": speeds, "load_before": loads})
    print(f"{'':8} {'':9} {'':12} {'one':>8} {'two, together':>14} {'share':>7} {'load':>6}")
    for row in rows:
        if row["runs"] == 2:
            one = next(r for r in rows if r["runs"] == 1 and all(r[key] == row[key] for key in ("size", "kind", "way")))
            load = max(*row["load_before"], *one["load_before"])
            print(f"{row['size']:8} {row['kind']:9} {row['way']:12} {one['images_per_s']:8.1f} {row['images_per_s']:14.1f} "
                  f"{row['images_per_s'] / one['images_per_s']:7.2f} {load:6.1f}{'  others were busy' if load > QUIET else ''}")
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps({"environment": environment, "quiet_below": QUIET, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("output", nargs="?", help="JSON file for everything measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--patience", type=float, default=300)
    main(parser.parse_args())
