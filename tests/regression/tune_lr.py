"""`tessera tune lr`: the suggestion lies where the model learns, the page and the picture show it, JSON has every number, the same twice, and nothing
of the run is left; ranges and files that cannot be are refused."""
import json
import math
import os
import signal
import subprocess
import time

from support import TINY, Folder, check, program, tessera

OPTIONS = [*TINY, "train.device=cpu", "train.precision=fp32", "schedule.type=one_cycle", "eval.every=1ba", "checkpoint.early_stop=1",
           "train.ema.half_life=5ba", "optimizer.lr_scaling=linear", "optimizer.base_batch=16"]


def main():
    with Folder() as folder:
        page, picture, temporary = folder / "pages/lr.html", folder / "lr.svg", folder / "tmp"
        temporary.mkdir()
        env = {"TMPDIR": str(temporary)}
        sweep = ["--low", 1e-6, "--high", 100, "--steps", 120]
        found, _ = tessera("tune", "lr", *OPTIONS, *sweep, "--json", "-o", page, env=env)
        result = json.loads(found)
        rates, count = result["rates"], len(result["rates"])
        check(count == len(result["losses"]) == len(result["smoothed"]) and 20 < count < 120, f"{count} of 120 rates: it should diverge before 100")
        check(result["diverged"] and math.isclose(rates[0], 1e-6) and math.isclose(rates[40] / rates[39], (100 / 1e-6) ** (1 / 119)), rates)
        check(1e-4 < result["suggested"] == result["steepest"] < result["minimum"] < 10, result)
        check(result["tenth_of_minimum"] == result["minimum"] / 10, result)
        text = page.read_text()
        check("<svg" in text and "optimizer.lr=" in text and "steepest" in text, "the page lacks its curve or its suggestion")
        check(not list(temporary.iterdir()), f"left behind: {list(temporary.iterdir())}")

        again, _ = tessera("tune", "lr", *OPTIONS, *sweep, "-o", picture, env=env)
        check(f"optimizer.lr={result['suggested']:.2g}" in again and picture.read_text().startswith("<svg"), again)

        # Rates at which nothing moves: no suggestion.
        still, _ = tessera("tune", "lr", *OPTIONS, "--low", 1e-12, "--high", 1e-11, "--steps", 20, "--json", "-o", picture, env=env)
        still = json.loads(still)
        check(still["suggested"] is None and not still["diverged"] and len(still["rates"]) == 20, still)

        # Ctrl-C: the code that says so, and nothing is left.
        stopped = subprocess.Popen([program(), "tune", "lr", *OPTIONS, "--steps", "3000", "--high", "1e-6", "-o", str(folder / "stopped.html")],
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        while not list(temporary.glob("*/run/config.yaml")) and stopped.poll() is None:
            time.sleep(0.05)
        stopped.send_signal(signal.SIGINT)
        errors = stopped.communicate()[1]
        check(stopped.returncode == 130 and "stopped before its end" in errors, f"{stopped.returncode}: {errors}")
        check(not list(temporary.iterdir()) and not (folder / "stopped.html").exists(), "a test that was stopped left something behind")

        for arguments, words in ((["--low", 1, "--high", 0.1], "expected two rates"), (["-o", folder / "lr.png"], "ending in .html or .svg")):
            _, errors = tessera("tune", "lr", *OPTIONS, *arguments, expect=2)
            check(words in errors, errors)


main()
