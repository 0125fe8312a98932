"""The reader: a BERT with three outputs for every token and nine for the text as a whole."""

import re

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, POSITIONS, WIDTH, HEADS, INNER = 30522, 512, 384, 12, 1536
# Rows of the head: for each token whether an answer starts or ends there and whether it belongs to one; for the text whether
# it answers the question, how well it goes with it, and what kind of request the question is.
START, END, MARKED, ANSWERED, RELEVANCE, KINDS = 0, 1, 2, 3, 4, 5
OUTPUTS = 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.attention_output = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.intermediate = nn.Linear(WIDTH, INNER)
        self.output = nn.Linear(INNER, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, hidden, mask, dropout):
        batch, length, _ = hidden.shape
        query, key, value = self.query_key_value(hidden).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        context = self.attention_output(context.transpose(1, 2).reshape(batch, length, WIDTH))
        hidden = self.attention_norm(hidden + F.dropout(context, dropout))
        inner = self.output(F.gelu(self.intermediate(hidden)))
        return self.output_norm(hidden + F.dropout(inner, dropout))


class Reader(nn.Module):
    def __init__(self, layers=12):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(WIDTH, OUTPUTS)

    def hidden(self, tokens, types):
        """Returns the last layer's vectors. Tokens of number 0 are padding."""
        dropout = 0.1 if self.training else 0.0
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.norm(self.words(tokens) + self.positions(places) + self.types(types))
        hidden = F.dropout(hidden, dropout)
        mask = (tokens != 0)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, mask, dropout)
        return hidden

    def forward(self, tokens, types):
        """Returns the outputs for every token, and those for the whole, which are the first token's."""
        out = self.head(self.hidden(tokens, types)).float()
        return out[..., :ANSWERED], out[:, 0, ANSWERED:]


# The names of a tensor in this model and in PyTorch's `BertModel`.
LAYER_NAMES = {"attention_output": "attention.output.dense", "attention_norm": "attention.output.LayerNorm",
               "intermediate": "intermediate.dense", "output": "output.dense", "output_norm": "output.LayerNorm"}
NAMES = {"words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
         "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm", "head": "head"}


def named(reader):
    """Returns the weights under the names that the product reads."""
    tensors = {}
    for name, value in reader.state_dict().items():
        value = value.detach().float().cpu().numpy()
        path, kind = name.rsplit(".", 1)
        match = re.fullmatch(r"layers\.(\d+)\.(\w+)", path)
        if not match:
            tensors[f"{NAMES[path]}.{kind}"] = value
        elif match[2] == "query_key_value":
            for part, own in zip(("query", "key", "value"), np.split(value, 3)):
                tensors[f"encoder.layer.{match[1]}.attention.self.{part}.{kind}"] = own
        else:
            tensors[f"encoder.layer.{match[1]}.{LAYER_NAMES[match[2]]}.{kind}"] = value
    return tensors


def load(reader, tensors):
    """Takes what there is of the weights under those names; the head may be new."""
    state = reader.state_dict()
    for name in state:
        path, kind = name.rsplit(".", 1)
        match = re.fullmatch(r"layers\.(\d+)\.(\w+)", path)
        if match and match[2] == "query_key_value":
            prefix = f"encoder.layer.{match[1]}.attention.self."
            parts = [tensors[f"{prefix}{part}.{kind}"] for part in ("query", "key", "value")]
            state[name] = torch.from_numpy(np.concatenate(parts))
        elif match:
            state[name] = torch.from_numpy(tensors[f"encoder.layer.{match[1]}.{LAYER_NAMES[match[2]]}.{kind}"])
        elif path != "head" or f"head.{kind}" in tensors:
            state[name] = torch.from_numpy(tensors[f"{NAMES[path]}.{kind}"])
    reader.load_state_dict(state)


def of_onnx(path):
    """Returns the weights of a cross-encoder in ONNX with bytes for its weights, and its own head as `pooler`, `classifier`."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def floats(name):
        if name in stored:
            return stored[name].astype(np.float32)
        scale, zero = stored[f"{name}_scale"].astype(np.float32), stored[f"{name}_zero_point"].astype(np.float32)
        return (stored[f"{name}_quantized"].astype(np.float32) - zero) * scale

    tensors = {}
    for name in list(stored):
        whole = re.sub(r"_(quantized|scale|zero_point)$", "", name)
        if whole.startswith(("bert.", "classifier.")):
            tensors[whole.removeprefix("bert.")] = floats(whole).copy()
    for node in graph.node:
        if node.op_type in ("MatMul", "MatMulInteger") and node.name.startswith("/bert/encoder"):
            weights = node.input[1].removesuffix("_quantized")
            if f"{weights}_quantized" in stored or weights in stored:
                layer = node.name.strip("/").rsplit("/", 1)[0].replace("/", ".").removeprefix("bert.")
                tensors[f"{layer}.weight"] = np.ascontiguousarray(floats(weights).T)
    return tensors
