"""A stop signal in an evaluation: it is cut short, the step is saved, resuming evaluates it again, and in the end the best checkpoint is that
of the undisturbed run. A terminal is told what happens."""
import json
import os
import pty
import signal
import time

from support import TINY, Folder, check, final_hash, log_lines, program, start, tessera

# An evaluation takes seconds here, a step does not: a signal that comes any time meets an evaluation.
OPTIONS = TINY + ["train.duration=4ba", "eval.every=1ba", "checkpoint.every=1000ba", "checkpoint.keep_last=1", "run.log_every=1ba",
                  "run.tensorboard=false", "eval.window.size=16", "eval.window.stride=1", "eval.window.batch=1", "data.threads=1"]


def best(run):
    named = json.loads((run / "checkpoints/best.json").read_text())
    check((run / "checkpoints" / named["checkpoint"] / "DONE").exists(), f"best.json of {run} names {named['checkpoint']}, which is gone")
    return named


def evaluations(run):
    return [line for line in log_lines(run) if line["type"] == "eval"]


def wait_for(condition, process):
    end = time.monotonic() + 120
    while not condition():
        check(process.poll() is None, "the run ended by itself")
        check(time.monotonic() < end, "nothing happened for two minutes")
        time.sleep(0.02)


def stop_in_evaluation(run, step, *arguments):
    """Starts or resumes the run and stops it in the evaluation of `step`."""
    process = start("train", *OPTIONS, f"run.dir={run}", *arguments)
    log = run / "log.jsonl"

    def evaluating():
        lines = log_lines(run) if log.exists() else []
        steps = [line["step"] for line in lines if line["type"] == "train"]
        sessions = [line for line in lines if line["type"] in ("start", "resume")]
        evaluated = [line["step"] for line in lines if line["type"] == "eval"]
        return sessions and sessions[-1]["time"] > began - 1 and step in steps and step - 1 in [0, *evaluated] and step not in evaluated

    began = time.time()
    wait_for(evaluating, process)
    time.sleep(0.2)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    check(process.returncode == 130, f"exit code {process.returncode}, expected 130\n{errors}")
    check(f"the evaluation at step {step} is cut short" in errors, f"nothing was said about the evaluation:\n{errors}")
    check(final_hash(run)[0] == f"step-{step:08}", f"step {step} was not saved: {final_hash(run)[0]}")
    return time.monotonic() - begin


def on_a_terminal(run):
    """What a terminal shows when Ctrl-C comes in the evaluation."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(program(), [program(), "train", *OPTIONS, f"run.dir={run}"])
    seen = b""
    while b"stopping: " not in seen:
        if (run / "log.jsonl").exists() and '"train"' in (run / "log.jsonl").read_text():
            os.kill(child, signal.SIGINT)
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            break
    os.set_blocking(terminal, False)
    while os.waitpid(child, os.WNOHANG) == (0, 0):  # a full terminal would keep it waiting
        try:
            os.read(terminal, 4096)
        except OSError:
            time.sleep(0.02)
    os.close(terminal)
    check(b"stopping: " in seen and b"again to stop at once" in seen, f"the terminal was not told what happens: {seen!r}")


def main():
    with Folder() as folder:
        tessera("train", *OPTIONS, f"run.dir={folder}/whole")
        run = folder / "run"
        seconds = [stop_in_evaluation(run, step, *(["--resume"] if step > 1 else [])) for step in (1, 2, 3, 4)]
        print(f"stopped in four evaluations, the longest took {max(seconds):.1f} s to end")
        tessera("train", *OPTIONS, f"run.dir={run}", "--resume")
        check(best(run) == best(folder / "whole"), f"best: {best(run)}, of the undisturbed run: {best(folder / 'whole')}")
        check(final_hash(run) == final_hash(folder / "whole"), "weights differ from the undisturbed run")
        found, expected = ([(e["step"], e["metrics"]) for e in evaluations(folder / name)] for name in ("run", "whole"))
        check(found == expected, f"evaluations: {found}, of the undisturbed run: {expected}")
        print(f"the best is {best(run)['checkpoint']} as in the undisturbed run")

        # A finished run has nothing left to do, not even to evaluate.
        tessera("train", *OPTIONS, f"run.dir={run}", "--resume")
        check(len(evaluations(run)) == 4, "a run that was finished and evaluated was evaluated again")
        on_a_terminal(folder / "terminal")


if __name__ == "__main__":
    main()
