"""compute-sanitizer over the tests of every CUDA kernel: tests/gpu/sanitize.py [--tools memcheck racecheck synccheck] [--jobs 8] BUILD_DIR.

Only our kernels are looked at, libtorch's are not. Every allocation is the driver's own, not a slice of libtorch's pool, so that a read behind
its end is seen. The tests are shared out to --jobs processes, which take turns on one GPU.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import time

OURS = "tessera"  # every kernel lives in this namespace, so its mangled name contains it


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder, or a bundle")
    parser.add_argument("--tools", nargs="+", default=["memcheck", "racecheck", "synccheck"])
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--filter", default="*", help="the tests to run, as --gtest_filter takes them")
    parser.add_argument("--limit", type=int, default=3600, help="seconds a process may take")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("."), help="folder for the output of each process")
    return parser.parse_args()


def tests(build):
    bundled = build / "tessera"
    return [bundled, "--run", "kernels_test"] if bundled.is_file() else [build / "tests/kernels_test"]


def shard(options, tool, index):
    """The seconds it took, its exit code and what the tool found."""
    environment = dict(os.environ, TESSERA_TEST_DEVICE="cuda", PYTORCH_NO_CUDA_MEMORY_CACHING="1", GTEST_TOTAL_SHARDS=str(options.jobs),
                       GTEST_SHARD_INDEX=str(index))
    command = ["compute-sanitizer", "--target-processes", "all", "--tool", tool, "--kernel-name", f"kns={OURS}", "--error-exitcode", "99",
               *tests(options.build), f"--gtest_filter={options.filter}"]
    log = options.logs / f"{tool}-{index}.log"
    begin = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen([str(part) for part in command], env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            code = process.wait(timeout=options.limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            code = "cut off"
    text = log.read_text(errors="replace")
    done = len(re.findall(r"^\[       OK", text, re.MULTILINE))
    return f"{tool} {index + 1}/{options.jobs}: {time.monotonic() - begin:.0f} s, exit {code}, {done} tests passed, " + "; ".join(
        re.findall(r"[A-Z]+ SUMMARY: .*", text)), code == 0


def main():
    options = parse()
    clean = True
    for tool in options.tools:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for line, good in pool.map(lambda index: shard(options, tool, index), range(options.jobs)):
                print(line, flush=True)
                clean = clean and good
    raise SystemExit(0 if clean else 1)


if __name__ == "__main__":
    main()
