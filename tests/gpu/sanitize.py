"""compute-sanitizer over the tests of every CUDA kernel: tests/gpu/sanitize.py BUILD_DIR [--tools memcheck racecheck synccheck] [--jobs 8].

Only our kernels are looked at, libtorch's are not. Every allocation is the driver's own, not a slice of libtorch's pool, so that a read behind
its end is seen. The tests are shared out to --jobs processes, which take turns on one GPU. Where the tool itself breaks, the test is named and
the others go on.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

OURS = "tessera"  # every kernel lives in this namespace, so its mangled name contains it
BROKE = "Internal Sanitizer Error"
FOUND = re.compile(r"^=+ (Error: Race|Invalid|Barrier error|Program hit)|^\[  FAILED  \]", re.MULTILINE)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder, or a bundle")
    parser.add_argument("--tools", nargs="+", default=["memcheck", "racecheck", "synccheck"])
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--filter", default="*", help="the tests to run, as --gtest_filter takes them")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("."), help="folder for the output of each process")
    return parser.parse_args()


def program(build):
    bundled = build / "tessera"
    return [bundled, "--run", "kernels_test"] if bundled.is_file() else [build / "tests/kernels_test"]


def run(command, environment):
    command = [str(part) for part in command]
    return subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def all_tests(options):
    names, suite = [], ""
    for line in run([*program(options.build), "--gtest_list_tests", f"--gtest_filter={options.filter}"], {}).stdout.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif re.match(r"\S+\.", line):
            suite = line.split("#")[0].strip()
    return names


def look(options, tool, index, tests):
    """How many tests passed under the tool, those in which it broke, and what it said if it found something."""
    environment = {"TESSERA_TEST_DEVICE": "cuda", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    log = options.logs / f"{tool}-{index}.log"
    log.write_text("")
    passed, broken = 0, []
    while tests:
        done = run(["compute-sanitizer", "--target-processes", "all", "--tool", tool, "--kernel-name", f"kns={OURS}", "--error-exitcode", "99",
                    *program(options.build), "--gtest_filter=" + ":".join(tests)], environment)
        with log.open("a") as out:
            out.write(done.stdout)
        passed += len(re.findall(r"^\[       OK \]", done.stdout, re.MULTILINE))
        if done.returncode == 0:
            break
        ended = re.findall(r"^\[ +(?:OK|SKIPPED) \] (\S+)", done.stdout, re.MULTILINE)
        last = [test for test in re.findall(r"^\[ RUN      \] (\S+)", done.stdout, re.MULTILINE) if test not in ended][-1:]
        if BROKE not in done.stdout or not last or FOUND.search(done.stdout):
            return passed, broken, f"exit {done.returncode}, {'; '.join(re.findall(r'[A-Z]+ SUMMARY: .*', done.stdout))}: {log}"
        broken += last
        tests = tests[tests.index(last[0]) + 1:]
    return passed, broken, ""


def main():
    options = parse()
    if not shutil.which("compute-sanitizer"):
        raise SystemExit("compute-sanitizer is not on PATH; it comes with the CUDA toolkit, in its folder bin")
    options.logs.mkdir(parents=True, exist_ok=True)
    tests, found = all_tests(options), False
    if not tests:
        raise SystemExit(f"no test of {options.build} matches {options.filter}")
    for tool in options.tools:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda i: look(options, tool, i, tests[i::options.jobs]), range(options.jobs)))
        print(f"{tool}: {sum(passed for passed, _, _ in results)} of {len(tests)} tests passed", flush=True)
        for _, broken, findings in results:
            for test in broken:
                print(f"  {test}: {tool} itself broke, nothing is known")
            if findings:
                print(f"  found: {findings}")
                found = True
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
