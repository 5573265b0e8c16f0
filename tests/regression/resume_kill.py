"""kill -9 at 20 random moments, each followed by the same command plus --resume: the final weights are the bits of the run that
was left alone. Moments are spread over the whole life of a process: start, steps, evaluation, writing of checkpoints."""
import random
import time

from support import TINY, Folder, check, final_hash, log_lines, start, tessera

KILLS = 20


def main():
    options = TINY + ["train.duration=400ba", "eval.every=40ba", "checkpoint.every=7ba", "checkpoint.keep_last=2"]
    random.seed(7)
    with Folder() as folder:
        begin = time.monotonic()
        tessera("train", *options, f"run.dir={folder}/whole")
        whole_seconds = time.monotonic() - begin
        step, expected = final_hash(folder / "whole")
        print(f"undisturbed: {step} {expected[:16]} in {whole_seconds:.1f} s")

        kills = 0
        command = ["train", *options, f"run.dir={folder}/killed", "--resume"]
        while True:
            process = start(*command)
            if kills < KILLS:
                time.sleep(random.uniform(0.05, max(0.8, whole_seconds * 0.35)))
            if kills < KILLS and process.poll() is None:
                process.kill()
                process.communicate()
                kills += 1
                continue
            _, errors = process.communicate()
            check(process.returncode == 0, f"resumed run failed:\n{errors}")
            if kills >= KILLS:
                break
            # It finished before all kills were spent: begin another run of the same kind.
            check(final_hash(folder / "killed") == (step, expected), f"weights differ after {kills} kills")
            tessera("train", *options, f"run.dir={folder}/killed", "--resume")  # resuming a finished run does nothing
            (folder / "killed").rename(folder / f"killed-{kills}")
        found = final_hash(folder / "killed")
        check(found == (step, expected), f"after {kills} kills: {found}, undisturbed: {(step, expected)}")
        resumes = sum(line["type"] == "resume" for run in folder.glob("killed*") for line in log_lines(run))
        print(f"{kills} kills, {resumes} resumes from checkpoints, weights identical")
        check(resumes >= 3, "the kills came too early to test resuming")


if __name__ == "__main__":
    main()
