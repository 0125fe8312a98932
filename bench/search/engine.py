"""Stoa's engine alone, on one core, as a contender: `engine.py SPEED_EXAMPLE SIZE…`.

Answers to `go MODE OWNER` with the time at the owner's size, over vectors that the example makes in the same way.
"""
import os, pathlib, re, subprocess, sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ingest"))
from stoa import end_with_parent, say


def main(program, *sizes):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    say(ready=True)
    for line in sys.stdin:
        _, mode, owner = line.split()
        output = subprocess.run([program, sizes[int(owner)]], capture_output=True, text=True, check=True,
                                preexec_fn=end_with_parent).stdout
        p50, p99 = re.search(rf"(?i)\b{mode}\s+p50 ([\d.]+) ms\s+p99 ([\d.]+) ms", output).groups()
        recall = re.search(r"recall@10.*?([\d.]+)\s*$", output, re.MULTILINE)
        say(p50=float(p50) / 1e3, p99=float(p99) / 1e3, recall=float(recall[1]) if recall and mode == "dense" else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
