"""Open MPI's mpirun starts 2 and 4 ranks; nothing but the program is given to it."""
from cluster import Folder, check, install, program, run, same_curve, train

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm", "isolated"]


def main():
    install(("mpirun", "openmpi-bin"))
    with Folder() as folder:
        for ranks in (2, 4):
            run(*MPIRUN, "-n", ranks, program(), *train(folder / f"mpi-{ranks}"), cwd=folder)
            same_curve(folder / "alone", folder / f"mpi-{ranks}", f"mpirun -n {ranks}")
        run(*MPIRUN, "-n", 2, program(), *train(folder / "zero1"), "-p", "zero1", cwd=folder)
        same_curve(folder / "alone", folder / "zero1", "mpirun -n 2, -p zero1")
        # A rank that fails ends the others: mpirun sees the exit code.
        text = run(*MPIRUN, "-n", 2, program(), *train(folder / "bad"), "optimizer.lr=nonsense", expect=2, cwd=folder)
        check("optimizer.lr" in text, text)
        # One task as the launcher of its host.
        run(*MPIRUN, "-n", 1, program(), "launch", "--ranks-per-node", 2, "--", *train(folder / "launched"), cwd=folder)
        same_curve(folder / "alone", folder / "launched", "tessera launch under mpirun -n 1")


if __name__ == "__main__":
    main()
