#!/usr/bin/env python3
"""What a durable step costs beside its model call, and how many runs a second are carried out: Stoa on SQLite and on
PostgreSQL, and Restate. The last lines hold the figures beside their aims."""
import argparse, contextlib, os, pathlib, signal, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import Failure, busy_seconds, machine, ratio, spread
from contenders import CHAINS, Restate, Stoa, StoaOnPostgres
from vendor import Vendor

AIM = 0.005  # a step at the median, in seconds
OURS, SCALED, PEER = "stoa, SQLite", "stoa, PostgreSQL", "restate"
KINDS = {OURS: Stoa, SCALED: StoaOnPostgres, PEER: Restate}
STEPS = CHAINS["long"]


def main(options):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="stoa-bench-") as folder, Vendor() as vendor:
        os.chmod(folder, 0o711)  # PostgreSQL may run as another user
        print(machine(), flush=True)
        on = subprocess.run(["df", "--output=fstype", folder], capture_output=True, text=True).stdout.split()[-1]
        if on in ("tmpfs", "ramfs"):
            sys.exit(f"`{folder}` is on {on}, where an fsync does nothing: name another folder with --folder")
        figures = Figures()
        with contextlib.ExitStack() as stack:
            contenders = [one for name in KINDS if (one := started(stack, name, pathlib.Path(folder), vendor))]
            for number in range(options.rounds + 1):
                figures.chains(contenders, pathlib.Path(folder))
                if number == 0:
                    figures = Figures()  # the first round warms up and is forgotten
            figures.tell_chains(on)
            for number in range(options.storms + 1):
                figures.storms(contenders, options.runs if number else 32)
                if number == 0:
                    figures.rates.clear()
            figures.tell_storms(options.runs)
        figures.tell_aims()


def started(stack, name, folder, vendor):
    try:
        return stack.enter_context(KINDS[name](name, folder, vendor))
    except (Failure, OSError) as failure:
        print(f"{name}: left out: {failure}", flush=True)
        return None


class Figures:
    """All times in seconds. A list for each round."""

    def __init__(self):
        self.fsyncs, self.gaps, self.rates, self.transactions, self.others = [], {}, {}, {}, []

    def chains(self, contenders, folder):
        """A chain by each contender in turn."""
        self.fsyncs.append(fsyncs(folder))
        for contender in contenders:
            machine_before, before, began = busy_seconds(), contender.programs.cpu_seconds(), time.perf_counter()
            notes, own = contender.chain()
            took = (time.perf_counter() - began) * os.cpu_count()
            cpu = contender.programs.cpu_seconds() - before
            self.others.append(max(0.0, busy_seconds() - machine_before - cpu) / took)
            self.keep(contender.name, between(notes))
            if own:
                self.keep(f"{contender.name}, by its service's clock", own)
            if isinstance(contender, Stoa):
                self.transactions[contender.name] = contender.transaction()
                self.keep(f"{contender.name}, followed", between(contender.chain(followed=True)[0]))
            time.sleep(0.2)

    def keep(self, name, gaps):
        if len(gaps) != STEPS - 1:
            raise Failure(f"{name}: {len(gaps) + 1} steps instead of {STEPS}")
        self.gaps.setdefault(name, []).append(gaps)

    def storms(self, contenders, runs):
        """Many runs at once, by each contender in turn."""
        for chain in ("one", "three"):
            for contender in contenders:
                before = contender.programs.cpu_seconds()
                seconds = contender.storm(chain, runs)
                cpu = (contender.programs.cpu_seconds() - before) / runs
                self.rates.setdefault((contender.name, chain), []).append((runs / seconds, cpu))
                time.sleep(0.5)

    def tell_chains(self, on):
        print(f"\n### One run, {STEPS} agents in a chain: from one answer of the model to the next question\n")
        print("| | p50 ms | medians of the rounds | p99 ms | most ms |\n|---|---|---|---|---|")
        print(f"| a bare fsync of 4 KiB ({on}) | {row(self.fsyncs)} |")
        for name, rounds in self.gaps.items():
            print(f"| {name} | {row(rounds)} |")
        others = 100 * statistics.median(self.others)
        print(f"\nOther work, model and client included, had {others:.0f} % of the machine.")
        for name, seconds in self.transactions.items():
            print(f"{name}: a step's transaction takes {1000 * seconds:.2f} ms in the mean")
        sys.stdout.flush()

    def tell_storms(self, runs):
        print(f"\n### {runs} runs at once\n")
        print("| | agents | runs/s | of the rounds | steps/s | CPU ms/run |\n|---|---|---|---|---|---|")
        for (name, chain), rounds in sorted(self.rates.items(), key=lambda entry: CHAINS[entry[0][1]]):
            rates, cpu = [rate for rate, _ in rounds], statistics.median(cpu for _, cpu in rounds)
            steps = statistics.median(rates) * CHAINS[chain]
            print(f"| {name} | {CHAINS[chain]} | {spread(rates, 0)} | {steps:,.0f} | {1000 * cpu:.1f} |", flush=True)

    def tell_aims(self):
        print()
        for name in (OURS, SCALED):
            if name in self.gaps:
                print(f"step overhead, {name}: p50 {1000 * median(self.gaps[name]):.2f} ms (aim: under {1000 * AIM:.0f})")
        for peer in (PEER, f"{PEER}, by its service's clock"):
            if peer in self.gaps and OURS in self.gaps:
                medians = [[statistics.median(gaps) for gaps in self.gaps[name]] for name in (OURS, peer)]
                print(f"step overhead of stoa on SQLite: {ratio(*medians):.2f} × {peer}")
        for chain in ("one", "three"):
            ours, theirs = ([rate for rate, _ in self.rates.get((name, chain), [])] for name in (OURS, PEER))
            if ours and theirs:
                print(f"runs a second of stoa on SQLite, agents {CHAINS[chain]}: {ratio(ours, theirs):.2f} × {PEER}")
        if PEER not in self.gaps:
            print("without the peer: Restate did not take part")


def between(notes):
    """From the end of each answer to the arrival of the next question."""
    return [arrived - answered for (_, answered), (arrived, _) in zip(notes, notes[1:])]


def fsyncs(folder):
    """What the disk takes to keep a page."""
    times = []
    with open(folder / "page", "wb", buffering=0) as file:
        for _ in range(STEPS - 1):
            file.write(b"x" * 4096)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    return times


def median(rounds):
    return statistics.median(gap for gaps in rounds for gap in gaps)


def row(rounds):
    gaps = sorted(1000 * gap for gaps in rounds for gap in gaps)
    medians = [1000 * statistics.median(one) for one in rounds]
    p99 = gaps[min(len(gaps) - 1, int(len(gaps) * 0.99))]
    return f"{statistics.median(gaps):.2f} | {min(medians):.2f}–{max(medians):.2f} | {p99:.2f} | {gaps[-1]:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="for the data, on a disk; the system's temporary folder where absent")
    parser.add_argument("--rounds", type=int, default=10, help="of chains")
    parser.add_argument("--storms", type=int, default=3, help="rounds of runs at once")
    parser.add_argument("--runs", type=int, default=300, help="at once")
    main(parser.parse_args())
