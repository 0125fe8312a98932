"""What both benchmarks of the embedded models share: the programs that are compared, and how they are reported.

A contender is a child process that speaks lines: it prints one JSON object when it is ready, and one in answer to
each line it is given. It ends when its input does, so none outlives the benchmark, however that ends.
"""
import contextlib, json, os, pathlib, platform, re, selectors, signal, statistics, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / "target/bench"
OURS = ROOT / "target/release/examples/bench"
PYTHON = CACHE / "engines/bin/python"


class Failure(Exception):
    """Why a contender takes no (further) part."""


class Contender:
    def __init__(self, name, command, timeout):
        self.name, self.command, self.timeout = name, [str(part) for part in command], timeout
        self.process, self.ready, self.failure, self.turns = None, {}, None, {}

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.unread = b""
        self.ready = self.answer()

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def tell(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(self.last_words()) from None

    def answer(self):
        deadline = time.monotonic() + self.timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise Failure(f"no answer within {self.timeout} s")
                piece = os.read(self.process.stdout.fileno(), 65536)
                if not piece:
                    raise Failure(self.last_words())
                self.unread += piece
        line, self.unread = self.unread.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError:
            raise Failure(f"unexpected answer `{line[:120].decode(errors='replace')}`") from None
        if "failure" in answer:
            raise Failure(answer["failure"])
        return answer

    def last_words(self):
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            code = "a closed output"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines() or [f"ended with {code}"]
        return lines[-1][:200]

    def turn(self, key, line):
        """Asks, and notes seconds and how much of the machine others used meanwhile."""
        before, own, start = busy_seconds(), self.cpu_seconds(), time.monotonic()
        answer = self.ask(line)
        wall = time.monotonic() - start
        others = (busy_seconds() - before - (self.cpu_seconds() - own)) / (wall * os.cpu_count())
        self.turns.setdefault(key, []).append(dict(answer, others=max(0.0, others)))
        return answer

    def cpu_seconds(self):
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, patience=5):
        """Ends the input, and then the process, unless that ends by itself."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        self.process = None

    def fail(self, failure):
        self.failure = str(failure)
        print(f"{self.name}: {self.failure}", flush=True)
        self.stop()


def busy_seconds():
    """Of all processors since the start, what was neither idle nor waiting, and what the hypervisor took."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def all_started(contenders):
    """Starts each; what cannot start is told and left out. All are ended in the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    try:
        for contender in contenders:
            try:
                if contender.failure is None:
                    contender.start()
            except (Failure, OSError) as failure:
                contender.fail(failure)
        yield
    finally:
        for contender in contenders:
            contender.stop()


def play(contenders, rounds, turns):
    """Interleaved: each contender's turns in each round. `turns(contender)` gives pairs of key and lines; of the
    lines the last is what is noted. The first round warms up and is forgotten."""
    for number in range(rounds + 1):
        started = time.monotonic()
        for contender in contenders:
            if contender.failure is None:
                one_round(contender, turns(contender))
        if number == 0:
            for contender in contenders:
                contender.turns.clear()
        print(f"{'warm-up' if number == 0 else f'round {number} of {rounds}'}: {time.monotonic() - started:.0f} s", flush=True)


def one_round(contender, turns):
    try:
        for key, lines in turns:
            for line in lines[:-1]:
                contender.ask(line)
            contender.turn(key, lines[-1])
            time.sleep(0.2)  # spinning threads come to rest
    except Failure as failure:
        contender.fail(failure)


def rates(contender, key, amount):
    return [amount / turn["seconds"] for turn in contender.turns.get(key, [])]


def ratio(ours, theirs):
    """The median over the rounds of the ratio within a round: what is common to a round falls out."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def spread(values, digits=1):
    return f"{statistics.median(values):,.{digits}f} | {min(values):,.{digits}f}–{max(values):,.{digits}f}"


def others(contender, key):
    return f"{100 * statistics.median(turn['others'] for turn in contender.turns[key]):.0f} %"


def footprint(contender):
    size, seconds = contender.ready.get("resident_bytes"), contender.ready.get("load_seconds")
    return f"{size / 2**20:,.0f}" if size else "", f"{seconds:.2f}" if seconds is not None else ""


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    flags = re.search(r"flags\s*: (.*)", text)
    telling = [flag for flag in ("avx2", "avx_vnni", "avx512_vnni", "amx_int8", "amx_bf16") if flags and flag in flags[1].split()]
    return f"{os.cpu_count()} × {model[1] if model else platform.machine()} ({', '.join(telling)}), Linux {platform.release()}"


def models_folder():
    return pathlib.Path(os.environ.get("STOA_MODELS_DIR") or "~/.cache/stoa/models").expanduser()


def find_model(folder, pattern):
    found = sorted(folder.rglob(pattern)) if folder.is_dir() else []
    if not found:
        sys.exit(f"no `{pattern}` below `{folder}`: run `stoa models pull`, or name the folder with --models")
    return found[0]
