"""SIGTERM and SIGINT: finish the step, save, exit 143 or 130; resuming gives the weights of the undisturbed run."""
import signal
import time

from support import TINY, Folder, check, final_hash, start, tessera


def main():
    options = TINY + ["train.duration=250ba", "eval.every=100ba", "checkpoint.every=1000ba"]
    with Folder() as folder:
        tessera("train", *options, f"run.dir={folder}/whole")
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            run = folder / f"stopped-{code}"
            process = start("train", *options, f"run.dir={run}")
            while not (run / "log.jsonl").exists() or '"train"' not in (run / "log.jsonl").read_text():
                time.sleep(0.02)
                check(process.poll() is None, "the run ended before the signal")
            time.sleep(0.3)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            check(process.returncode == code, f"exit code {process.returncode}, expected {code}\n{errors}")
            step, _ = final_hash(run)
            check(step != "step-00000250", "the run was over before the signal came")
            tessera("train", *options, f"run.dir={run}", "--resume")
            check(final_hash(run) == final_hash(folder / "whole"), f"weights differ after a stop at {step}")
            print(f"signal {number.name}: stopped at {step}, exit code {code}, resumed to the same weights")


def with_many_threads():
    """Far more threads than CPUs are slow, and are warned of; a signal still ends the run."""
    with Folder() as folder:
        run = folder / "crowded"
        process = start("train", *TINY, "train.duration=100000ba", "eval.every=0ba", "checkpoint.every=100000ba", "train.threads=64", f"run.dir={run}")
        while not (run / "log.jsonl").exists() or '"train"' not in (run / "log.jsonl").read_text():
            time.sleep(0.02)
            check(process.poll() is None, "the run ended before the signal")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        check(process.returncode == 143, f"exit code {process.returncode}, expected 143\n{errors}")
        check("train.threads=64, but " in errors, errors)
        print("64 threads: stopped by SIGTERM")


if __name__ == "__main__":
    main()
    with_many_threads()
