"""What the controller of a study costs per trial, and that neither this nor its memory grows with their number: bench/study_overhead.py BUILD_DIR.

10,000 trials without trainings (study_bench: `cmake --build BUILD_DIR --target study_bench`). The stand-in's own time is taken off.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=10000)
    parser.add_argument("--cases", nargs="+", default=["random none", "sobol asha", "sobol {type: asha, rule: promote}", "tpe none"], help="search and scheduler")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for the studies; default: a temporary one")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = parse()
    found = {}
    for case in options.cases:
        search, scheduler = case.split(maxsplit=1)
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            command = [options.build / "bin/study_bench", folder + "/study", str(options.trials), search, scheduler]
            lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        for row in rows:
            # Of 1000 trials in s: of one in ms.
            row["ms_per_trial"] = round(row["seconds"] - row["trainings"], 4)
            row["cpu_ms_per_trial"] = round(row["cpu"] - row["trainings_cpu"], 4)
        found[case] = rows
        first, last = rows[0], rows[-1]
        print(f"{case:32} {first['ms_per_trial']:6.2f} ms a trial at first, {last['ms_per_trial']:6.2f} at the end; CPU "
              f"{first['cpu_ms_per_trial']:6.2f} and {last['cpu_ms_per_trial']:6.2f} ms; {first['memory_mb']:.0f} MB, {last['memory_mb']:.0f} MB", flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
