"""SIGTERM and SIGINT: finish the step, save, exit 143 or 130; resuming gives the weights of the undisturbed run. So does a run that
was told where to stop."""
import signal
import time

from support import TINY, Folder, check, final_hash, log_lines, start, tessera


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
        stop_at(options, folder)


def stop_at(options, folder):
    """--stop-at: evaluated there, and resumed to the weights and the best checkpoint of the undisturbed run."""
    run = folder / "rungs"
    for arguments, step in ((["--stop-at", "70ba"], 70), (["--stop-at", "0.5dur", "--resume"], 125)):
        output, errors = tessera("train", *options, f"run.dir={run}", *arguments)
        lines = log_lines(run)
        check(final_hash(run)[0] == f"step-{step:08}", f"{arguments}: stopped at {final_hash(run)[0]}")
        check(lines[-1]["status"] == "paused" and any(line["type"] == "eval" and line["step"] == step for line in lines), lines[-1])
        check("mean_iou" in output and f"paused at step {step}" in errors, output + errors)
    tessera("train", *options, f"run.dir={run}", "--resume")
    check(final_hash(run) == final_hash(folder / "whole"), "weights differ after --stop-at")
    best = [(folder / name / "checkpoints/best.json").read_text() for name in ("rungs", "whole")]
    check(best[0] == best[1], f"the best checkpoint differs after --stop-at: {best}")
    _, errors = tessera("train", *options, f"run.dir={folder}/wrong", "--stop-at", "soon", expect=2)
    check("--stop-at" in errors and "25ep" in errors, errors)
    print("--stop-at: evaluated there, resumed to the same weights")


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
