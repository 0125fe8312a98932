"""llama.cpp as a contender: `peer.py MODEL_FILE FLASH` (`on` or `off`: its flash attention).

Answers to `prefill N` (N tokens into an empty cache) and `decode N` (N tokens after it, one by one, each the likeliest
after the one before) with seconds.
"""
import importlib.metadata, json, os, pathlib, sys, time

THREADS = 2


def main(model, flash):
    try:
        import llama_cpp
        import numpy
    except (ImportError, OSError, RuntimeError) as error:
        return say(failure=f"not installed: {getattr(error, 'name', None) or error}")
    before, start = resident_bytes(), time.monotonic()
    llama = llama_cpp.Llama(model, n_ctx=4096, n_batch=512, n_threads=THREADS, n_threads_batch=THREADS,
                            flash_attn=flash == "on", verbose=False)
    seconds = time.monotonic() - start
    say(ready=True, kernel="llama.cpp", load_seconds=seconds, resident_bytes=resident_bytes() - before,
        version=importlib.metadata.version("llama-cpp-python"),
        system=llama_cpp.llama_print_system_info().decode().strip())

    def likeliest():
        logits = llama_cpp.llama_get_logits_ith(llama.ctx, -1)
        return int(numpy.argmax(numpy.ctypeslib.as_array(logits, (llama.n_vocab(),))))

    for line in sys.stdin:
        command, count = line.split()
        count = int(count)
        start = time.monotonic()
        if command == "prefill":
            llama.reset()
            llama.eval([1000 + (place * 37) % 20000 for place in range(count)])
            following = likeliest()
        elif command == "decode":
            for _ in range(count):
                llama.eval([following])
                following = likeliest()
        say(seconds=time.monotonic() - start)


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def say(**answer):
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
