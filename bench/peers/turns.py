"""How a peer that is started once waits until it is its turn to measure, as `tessera bench --turns` does."""
import statistics
import sys


def add_turns(parser):
    parser.add_argument("--turns", type=int, default=0, help="measure this often, each time when a line comes on standard input")


def measure_in_turns(turns, measure):
    """What `measure` gives, once or each time when it is our turn."""
    found = []
    for _ in range(max(1, turns)):
        if turns:
            print("ready", flush=True)
            if not sys.stdin.readline():
                raise SystemExit(f"standard input ended before all {turns} turns were measured")
        found.append(measure())
    return found


def medians(turns):
    return [statistics.median(milliseconds) for milliseconds in turns]
