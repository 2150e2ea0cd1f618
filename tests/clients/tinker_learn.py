"""GRPO with the SDK of Tinker on the embedded task, from token ids alone, in as many steps and samples as
`./tango train --config configs/last-letter.yaml --steps 20`. Saves the adapter, which main.ts measures on 512 other problems: that one of those is among the 640 here has a chance
below one in a million. Needs `tinker`.
"""

import json
import os
import random
import re
import statistics
import urllib.request

import tinker
from tinker import types

URL = os.environ["TINKER_BASE_URL"]
STEPS, PROBLEMS, GROUP = 20, 32, 8
LEARNING_RATE = 1e-3


def ask(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def problems(seed, count):
    draw = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    made = []
    for _ in range(count):
        words = ["".join(draw.choices(letters, k=draw.randint(3, 7))) for _ in range(draw.randint(2, 4))]
        made.append((" ".join(words), "".join(word[-1] for word in words)))
    return made


def is_right(tokens, answer):
    text = ask("/detokenize", {"tokens": list(tokens)})["prompt"]
    found = re.search(r"<answer>\\boxed\{(\w+)\}</answer>", text)
    return found is not None and found.group(1) == answer


def sampled(sampler, asked, count, seed):
    params = types.SamplingParams(max_tokens=80, temperature=1.0, seed=seed)
    prompts = [ask("/tokenize", {"prompt": f"<bos>{question}?"})["tokens"] for question, _ in asked]
    futures = [
        sampler.sample(prompt=types.ModelInput.from_ints(ids), num_samples=count, sampling_params=params)
        for ids in prompts
    ]
    return [(ids, future.result().sequences) for ids, future in zip(prompts, futures)]


def tensor(values, dtype="float32"):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def datums(asked, groups):
    made, all_rewards = [], []
    for (prompt, sequences), (_, answer) in zip(groups, asked):
        rewards = [float(is_right(sequence.tokens, answer)) for sequence in sequences]
        all_rewards += rewards
        spread = statistics.pstdev(rewards)
        if spread == 0:
            continue
        mean = statistics.fmean(rewards)
        for sequence, reward in zip(sequences, rewards):
            tokens = prompt + list(sequence.tokens)
            before = len(prompt) - 1
            made.append((tokens, before, list(sequence.logprobs), (reward - mean) / spread))
    total = sum(len(found) for _, _, found, _ in made)
    return [
        types.Datum(
            model_input=types.ModelInput.from_ints(tokens[:-1]),
            loss_fn_inputs={
                "target_tokens": tensor(tokens[1:], "int64"),
                "logprobs": tensor([0.0] * before + found),
                "advantages": tensor([0.0] * before + [advantage / total] * len(found)),
            },
        )
        for tokens, before, found, advantage in made
    ], statistics.fmean(all_rewards)


def main():
    service = tinker.ServiceClient(base_url=URL, api_key="tml-none")
    client = service.create_lora_training_client(base_model="tiny", rank=32, seed=0).result()
    for step in range(STEPS):
        sampler = client.save_weights_and_get_sampling_client()
        sampler = sampler.result() if hasattr(sampler, "result") else sampler
        asked = problems(f"step {step}", PROBLEMS)
        batch, reward = datums(asked, sampled(sampler, asked, GROUP, step))
        print(f"step {step}: reward {reward:.3f}", flush=True)
        if not batch:
            continue  # nothing to prefer
        gradient = client.forward_backward(batch, "importance_sampling")
        update = client.optim_step(types.AdamParams(learning_rate=LEARNING_RATE, beta2=0.95, eps=1e-8, grad_clip_norm=1.0))
        gradient.result()
        update.result()
    print(client.save_weights_for_sampler("learned").result().path)
    service.close("success").result()


main()
