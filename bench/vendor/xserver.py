"""llama.cpp's own HTTP server, as the PyPI package xllamacpp has it, with the flags of llama_cpp.server that we use."""
import argparse, signal

import xllamacpp

parser = argparse.ArgumentParser()
for name in ("model", "model_alias", "api_key"):
    parser.add_argument(f"--{name}")
for name in ("port", "n_ctx", "n_threads"):
    parser.add_argument(f"--{name}", type=int)
given = parser.parse_args()
params = xllamacpp.CommonParams()
params.model.path, params.model_alias = given.model, {given.model_alias}
params.hostnames, params.port = ["127.0.0.1"], given.port
params.n_ctx, params.n_parallel, params.cache_ram_mib = given.n_ctx, 1, 512
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.n_threads
if given.api_key:
    params.api_keys = [given.api_key]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.pause()
