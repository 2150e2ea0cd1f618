"""The PyTorch side of the benchmark: the shapes of bench/shapes.json and the default model's training step.

    python -m venv .venv && .venv/bin/pip install -r bench/peers/requirements.txt
    .venv/bin/python bench/peers/pytorch.py [--device cpu|cuda] [--dtype f32|f16|bf16] [--filter TEXT]

Prints JSON lines. The first one says what was measured on: {"device", "name", "threads", "torch", "dtype"}.
Then one per kernel and shape, {"name", "shape", "milliseconds", "gflops" or "gbps"}, and last
{"name": "training_step" | "rollout", "shape", "milliseconds", "tokens_per_second"}.

CUDA is used when there is one, else the CPU with all its cores. Each time is the median of several samples
after a warm-up; a sample repeats a short kernel until it lasts long enough to be timed, and divides. A
backward is timed alone, from a forward made once. f32 means f32: TF32 stays off. Plain eager PyTorch, its
own fused operations where it has them (scaled_dot_product_attention, rms_norm, fused AdamW).
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F

SHAPES = Path(__file__).parent.parent / "shapes.json"
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


# Timing


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def median_seconds(run, device, budget):
    """Median time of one call of run(), within about `budget` seconds and at least 3 samples."""

    def sample(repeats):
        synchronize(device)
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        synchronize(device)
        return (time.perf_counter() - start) / repeats

    sample(1)
    single = sample(2)
    repeats = max(1, min(10_000, int(0.01 / single)))
    samples, deadline = [], time.perf_counter() + budget
    while len(samples) < 3 or (time.perf_counter() < deadline and len(samples) < 50):
        samples.append(sample(repeats))
    return statistics.median(samples)


# Kernels: each function returns {variant: (function to time, flops or bytes of one call)}


class Kernels:
    """Makes the inputs of one kernel at one shape on one device."""

    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype
        self.bytes = 4 if dtype == torch.float32 else 2

    def random(self, *shape, requires_grad=False):
        x = torch.randn(shape, device=self.device, dtype=self.dtype)
        return x.requires_grad_(requires_grad)

    def integers(self, high, *shape):
        return torch.randint(high, shape, device=self.device)

    def forward_backward(self, forward, inputs, forward_work, backward_work):
        """Times forward() without a graph, and the backward from one kept graph to `inputs`."""
        outputs = forward()
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        gradients = [torch.randn_like(output) for output in outputs]

        def backward():
            torch.autograd.grad(outputs, inputs, gradients, retain_graph=True)

        return {
            "forward": (torch.no_grad()(forward), forward_work),
            "backward": (backward, backward_work),
        }

    def gemm(self, m, n, k):
        a, b, at, bt = (self.random(*s) for s in ((m, k), (k, n), (k, m), (n, k)))
        out = self.random(m, n)
        work = 2 * m * n * k
        return {
            "nt": (lambda: torch.mm(a, bt.t(), out=out), work),
            "nn": (lambda: torch.mm(a, b, out=out), work),
            "tn": (lambda: torch.mm(at.t(), b, out=out), work),
        }

    def rmsnorm(self, rows, width):
        x = self.random(rows, width, requires_grad=True)
        weight = self.random(width, requires_grad=True)
        size = rows * width * self.bytes
        forward = lambda: F.rms_norm(x, (width,), weight, 1e-6)
        return self.forward_backward(forward, [x, weight], 2 * size, 3 * size)

    def rope(self, tokens, heads, headDim):
        x = self.random(tokens, heads, headDim, requires_grad=True)
        cos, sin = rope_tables(torch.arange(tokens, device=self.device), headDim, 1e4, self.dtype)
        size = tokens * heads * headDim * self.bytes
        forward = lambda: rotate(x, cos[:, None], sin[:, None])
        return self.forward_backward(forward, [x], 2 * size, 2 * size)

    def swiglu(self, rows, width):
        gate, up = (self.random(rows, width, requires_grad=True) for _ in range(2))
        size = rows * width * self.bytes
        return self.forward_backward(lambda: F.silu(gate) * up, [gate, up], 3 * size, 5 * size)

    def embedding(self, tokens, vocabulary, width):
        weight = self.random(vocabulary, width, requires_grad=True)
        ids = self.integers(vocabulary, tokens)
        size = tokens * width * self.bytes
        work = (2 * size, size + vocabulary * width * self.bytes)
        return self.forward_backward(lambda: F.embedding(ids, weight), [weight], *work)

    def attention(self, lengths, heads, kvHeads, headDim):
        """One call per sequence, or one call for all where the lengths are equal."""
        if len(set(lengths)) == 1:
            batches = [(len(lengths), lengths[0])]
        else:
            batches = [(1, length) for length in lengths]
        make = lambda h: [self.random(b, h, t, headDim, requires_grad=True) for b, t in batches]
        q, k, v = make(heads), make(kvHeads), make(kvHeads)

        def forward():
            return [
                F.scaled_dot_product_attention(*qkv, is_causal=True, enable_gqa=True)
                for qkv in zip(q, k, v)
            ]

        pairs = heads * headDim * sum(length * (length + 1) // 2 for length in lengths)
        return self.forward_backward(forward, q + k + v, 4 * pairs, 10 * pairs)

    def linear_logprob(self, rows, width, vocabulary):
        hidden = self.random(rows, width, requires_grad=True)
        weight = (self.random(vocabulary, width) / width**0.5).requires_grad_()
        targets = self.integers(vocabulary, rows)
        gradients = [self.random(rows).float() for _ in range(2)]
        forward = lambda: log_probs_and_entropy(F.linear(hidden, weight), targets)

        def both_ways():
            torch.autograd.grad(forward(), [hidden, weight], gradients)

        # The engine recomputes the logits in its backward, so PyTorch's forward counts in here too.
        work = 2 * rows * width * vocabulary
        return {"forward": (torch.no_grad()(forward), work), "backward": (both_ways, 3 * work)}

    def adamw(self, parameters):
        parameter = self.random(parameters, requires_grad=True)
        parameter.grad = self.random(parameters)
        optimizer = torch.optim.AdamW([parameter], lr=1e-5, fused=True)
        return {None: (optimizer.step, 7 * parameters * self.bytes)}

    def gradient_norm(self, parameters):
        gradient = self.random(parameters)
        norm = lambda: torch.linalg.vector_norm(gradient)
        return {None: (norm, parameters * self.bytes)}

    def policy_loss(self, rows):
        log_probs = self.random(rows, requires_grad=True)
        entropy = self.random(rows, requires_grad=True)
        old_log_probs, ref_log_probs, advantages, weights = (self.random(rows) for _ in range(4))

        def run():
            ratio = (log_probs - old_log_probs).exp()
            surrogate = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages)
            log_ratio = ref_log_probs - log_probs
            loss = -surrogate + 0.05 * (log_ratio.exp() - 1 - log_ratio) - 0.01 * entropy
            torch.autograd.grad((weights * loss).sum(), [log_probs, entropy])

        return {None: (run, 11 * rows * self.bytes)}

    def gather_rows(self, rows, width):
        source, target = self.random(rows, width), self.random(rows, width)
        order = torch.randperm(rows, device=self.device)
        size = 2 * rows * width * self.bytes
        return {
            "forward": (lambda: torch.index_select(source, 0, order, out=target), size),
            "backward": (lambda: target.index_copy_(0, order, source), size),
        }

    def decode_attention(self, sequences, context, heads, kvHeads, headDim):
        q = self.random(sequences, heads, 1, headDim)
        k, v = (self.random(sequences, kvHeads, context, headDim) for _ in range(2))
        attend = lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        size = 2 * sequences * context * kvHeads * headDim * self.bytes
        return {None: (torch.no_grad()(attend), size)}

    def sampling(self, sequences, vocabulary):
        logits = self.random(sequences, vocabulary)
        return {None: (lambda: sample(logits), sequences * vocabulary * self.bytes)}

    def sampling_filtered(self, sequences, vocabulary):
        logits = self.random(sequences, vocabulary)
        run = lambda: sample_filtered(logits, temperature=0.8, top_k=50, top_p=0.95)
        return {None: (run, sequences * vocabulary * self.bytes)}

    def sequence_old_log_probs(self, sequences, tokens):
        log_probs, old_log_probs = (self.random(sequences, tokens) for _ in range(2))

        def run():
            return log_probs - (log_probs - old_log_probs).mean(1, keepdim=True)

        return {None: (run, 4 * sequences * tokens * self.bytes)}

    def unpack(self, rows, width):
        blocks = rows * width // 32
        bfloat = self.random(rows, width).bfloat16()
        scale, minimum = (self.random(blocks, 1).half() for _ in range(2))
        bytes_of = lambda count: torch.randint(0, 256, (blocks, count), device=self.device, dtype=torch.uint8)
        eight, four = bytes_of(32).view(torch.int8), bytes_of(16)

        def q4_1():
            nibbles = torch.cat([four & 15, four >> 4], dim=1)
            return nibbles.float() * scale.float() + minimum.float()

        elements = rows * width
        return {
            "bf16": (lambda: bfloat.float(), 6 * elements),
            "q8_0": (lambda: eight.float() * scale.float(), blocks * 34 + 4 * elements),
            "q4_1": (q4_1, blocks * 20 + 4 * elements),
        }


def log_probs_and_entropy(logits, targets):
    """Log-prob of each target [T] and entropy [T] in f32, from logits [T, V]."""
    all_log_probs = logits.float().log_softmax(-1)
    log_probs = all_log_probs.gather(-1, targets[..., None])[..., 0]
    return log_probs, -(all_log_probs.exp() * all_log_probs).sum(-1)


def sample(logits):
    """(token [N], its log-prob [N]) from logits [N, V] at temperature 1."""
    log_probs = logits.float().log_softmax(-1)
    token = torch.multinomial(log_probs.exp(), 1)
    return token[:, 0], log_probs.gather(1, token)[:, 0]


def sample_filtered(logits, temperature, top_k, top_p):
    """As sample(), keeping the top_k likeliest tokens and of these the smallest set that reaches top_p."""
    values, indices = (logits.float() / temperature).topk(min(top_k, logits.shape[-1]))
    before = values.softmax(-1).cumsum(-1) - values.softmax(-1)
    token, log_probs = sample(values.masked_fill(before >= top_p, -torch.inf))
    return indices.gather(1, token[:, None])[:, 0], log_probs


def rope_tables(positions, head_dim, theta, dtype):
    """cos and sin [T, head_dim], both halves the same."""
    exponents = torch.arange(0, head_dim, 2, device=positions.device).float() / head_dim
    angles = positions[:, None].float() * theta**-exponents
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


# The default model


class Decoder(torch.nn.Module):
    """Llama-style decoder over sequences of one length, with an optional KV cache."""

    def __init__(self, settings, device, dtype):
        super().__init__()
        self.settings = settings
        width, head_dim = settings["hidden"], settings["headDim"]
        heads, kv_heads = settings["heads"] * head_dim, settings["kvHeads"] * head_dim
        shapes = {
            "q": (heads, width),
            "k": (kv_heads, width),
            "v": (kv_heads, width),
            "o": (width, heads),
            "gate": (settings["intermediate"], width),
            "up": (settings["intermediate"], width),
            "down": (width, settings["intermediate"]),
        }
        make = lambda shape: torch.nn.Parameter(
            torch.randn(shape, device=device, dtype=dtype) / shape[1] ** 0.5
        )
        norm = lambda: torch.nn.Parameter(torch.ones(width, device=device, dtype=dtype))
        self.embedding = make((settings["vocabulary"], width))
        self.blocks = torch.nn.ModuleList()
        for _ in range(settings["layers"]):
            weights = {name: make(shape) for name, shape in shapes.items()}
            norms = {"attention_norm": norm(), "mlp_norm": norm()}
            self.blocks.append(torch.nn.ParameterDict(weights | norms))
        self.final_norm = norm()
        if settings["tiedEmbeddings"]:
            self.head = self.embedding
        else:
            self.head = make((settings["vocabulary"], width))

    def norm(self, x, weight):
        return F.rms_norm(x, x.shape[-1:], weight, self.settings["normEpsilon"])

    def forward(self, tokens, start=0, cache=None):
        """Logits [N, T, V] of tokens [N, T] at positions start..start + T; fills the cache, if any."""
        s = self.settings
        count, length = tokens.shape
        positions = torch.arange(start, start + length, device=tokens.device)
        cos, sin = rope_tables(positions, s["headDim"], s["ropeTheta"], self.embedding.dtype)
        split = lambda x, h: x.view(count, length, h, s["headDim"]).transpose(1, 2)
        x = F.embedding(tokens, self.embedding)
        for index, block in enumerate(self.blocks):
            h = self.norm(x, block["attention_norm"])
            q = rotate(split(F.linear(h, block["q"]), s["heads"]), cos, sin)
            k = rotate(split(F.linear(h, block["k"]), s["kvHeads"]), cos, sin)
            v = split(F.linear(h, block["v"]), s["kvHeads"])
            if cache is not None:
                for stored, new in zip(cache[index], (k, v)):
                    stored[:, :, start : start + length] = new
                k, v = (stored[:, :, : start + length] for stored in cache[index])
            attended = F.scaled_dot_product_attention(
                q, k, v, is_causal=length > 1, enable_gqa=True
            )
            attended = attended.transpose(1, 2).reshape(count, length, -1)
            x = x + F.linear(attended, block["o"])
            h = self.norm(x, block["mlp_norm"])
            gated = F.silu(F.linear(h, block["gate"])) * F.linear(h, block["up"])
            x = x + F.linear(gated, block["down"])
        return F.linear(self.norm(x, self.final_norm), self.head)

    def empty_cache(self, count, length):
        s = self.settings
        shape = (count, s["kvHeads"], length, s["headDim"])
        make = lambda: torch.empty(shape, device=self.embedding.device, dtype=self.embedding.dtype)
        return [(make(), make()) for _ in self.blocks]


def training_step(model, sequences, tokens):
    """Forward, backward, gradient clipping and AdamW on random tokens."""
    vocabulary = model.settings["vocabulary"]
    ids = torch.randint(vocabulary, (sequences, tokens), device=model.embedding.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def run():
        optimizer.zero_grad()
        log_probs, entropy = log_probs_and_entropy(model(ids)[:, :-1], ids[:, 1:])
        (-(log_probs + 0.01 * entropy).mean()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


@torch.no_grad()
def rollout(model, sequences, promptTokens, newTokens):
    """Samples newTokens per sequence with a KV cache; no sequence stops early."""
    vocabulary = model.settings["vocabulary"]
    prompts = torch.randint(vocabulary, (sequences, promptTokens), device=model.embedding.device)
    cache = model.empty_cache(sequences, promptTokens + newTokens)

    @torch.no_grad()
    def run():
        tokens, log_probs = [], []
        logits = model(prompts, 0, cache)[:, -1]
        for position in range(promptTokens, promptTokens + newTokens):
            token, log_prob = sample(logits)
            tokens.append(token)
            log_probs.append(log_prob)
            if len(tokens) < newTokens:
                logits = model(token[:, None], position, cache)[:, -1]
        return torch.stack(tokens, 1).cpu(), torch.stack(log_probs, 1).cpu()

    return run


# Output


def device_line(device, dtype_name):
    if device.type == "cuda":
        name = torch.cuda.get_device_name()
    else:
        name = platform.processor() or platform.machine()
        cpuinfo = Path("/proc/cpuinfo")
        models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if (
            cpuinfo.exists()
        ) else []
        name = models[0].split(":", 1)[1].strip() if models else name
    return {
        "device": device.type,
        "name": name,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "dtype": dtype_name,
    }


def show(line):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda if there is one")
    parser.add_argument("--dtype", choices=DTYPES, default="f32", help="storage of all tensors")
    parser.add_argument("--filter", default="", help="only results whose NAME/LABEL contains this")
    parser.add_argument("--seconds", type=float, default=0.5, help="time per result")
    arguments = parser.parse_args()

    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = DTYPES[arguments.dtype]
    torch.manual_seed(0)
    shapes = json.loads(SHAPES.read_text())
    show(device_line(device, arguments.dtype))

    for kernel, entry in shapes["kernels"].items():
        for shape in entry["shapes"]:
            label = shape["label"]
            names = [kernel + "_" + v for v in entry["variants"]] if "variants" in entry else [kernel]
            if not any(arguments.filter in f"{name}/{label}" for name in names):
                continue
            dimensions = {key: value for key, value in shape.items() if key != "label"}
            made = getattr(Kernels(device, dtype), kernel)(**dimensions)
            for name, (run, work) in zip(names, made.values(), strict=True):
                if arguments.filter not in f"{name}/{label}":
                    continue
                seconds = median_seconds(run, device, arguments.seconds)
                unit = entry["work"]["unit"]
                line = {"name": name, "shape": label, "milliseconds": round(seconds * 1e3, 6)}
                show(line | {unit: round(work / seconds / 1e9, 3)})

    settings = shapes["endToEnd"]
    for name, key, make in (
        ("training_step", "trainingStep", training_step),
        ("rollout", "rollout", rollout),
    ):
        if arguments.filter not in f"{name}/default":
            continue
        size = settings[key]
        run = make(Decoder(settings["model"], device, dtype), **size)
        seconds = median_seconds(run, device, max(3.0, arguments.seconds))
        tokens = size["sequences"] * size.get("tokens", size.get("newTokens"))
        line = {"name": name, "shape": "default", "milliseconds": round(seconds * 1e3, 3)}
        show(line | {"tokens_per_second": round(tokens / seconds)})


if __name__ == "__main__":
    main()
