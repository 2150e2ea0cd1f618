"""What the SDK of Tinker does with this server. Run by main.ts; needs `tinker`, and `torch` for one of the tests."""

import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import tinker
from tinker import types

URL = os.environ["TINKER_BASE_URL"]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def tensor(values, dtype="float32"):
    return types.TensorData(data=list(values), dtype=dtype, shape=[len(values)])


def datum(tokens, targets, **arrays):
    inputs = {"target_tokens": tensor(targets, "int64")}
    inputs.update({name: tensor(values) for name, values in arrays.items()})
    return types.Datum(model_input=types.ModelInput.from_ints(tokens), loss_fn_inputs=inputs)


def log_probs(output):
    return [list(one["logprobs"].data) for one in output.loss_fn_outputs]


DATA = [
    datum([1, 2, 3], [2, 3, 4], weights=[0.0, 1.0, 1.0]),
    datum([5, 6], [6, 7], weights=[1.0, 1.0]),
    datum([8, 9, 1, 2], [9, 1, 2, 3], weights=[1.0, 0.5, 0.0, 2.0]),
]
STEP = types.AdamParams(learning_rate=1e-3)


def loss(client, data=DATA):
    return client.forward(data, "cross_entropy").result().metrics["loss:sum"]


def prompt(*tokens):
    return types.ModelInput.from_ints(list(tokens))


def sampler_of(client):
    sampler = client.save_weights_and_get_sampling_client()
    return sampler.result() if hasattr(sampler, "result") else sampler


class Fixture:
    def __init__(self):
        self.service = tinker.ServiceClient(base_url=URL, api_key="tml-none")
        (model,) = self.service.get_server_capabilities().supported_models
        self.base = model.model_name

    def client(self, rank=8, seed=3):
        return self.service.create_lora_training_client(base_model=self.base, rank=rank, seed=seed).result()


@test
def the_model_is_listed(at):
    assert at.base == "tiny", at.base
    info = at.client().get_info()
    info = info.result() if hasattr(info, "result") else info
    assert info.model_data.model_name == "tiny" and info.lora_rank == 8


@test
def the_loss_is_the_sum_of_weighted_log_probs(at):
    client = at.client()
    output = client.forward(DATA, "cross_entropy").result()
    expected = 0.0
    for one, found in zip(DATA, log_probs(output)):
        expected -= sum(w * p for w, p in zip(one.loss_fn_inputs["weights"].data, found))
    assert abs(output.metrics["loss:sum"] - expected) < 1e-4
    silent = [datum([1, 2], [2, 3], weights=[0.0, 0.0])]
    assert client.forward_backward(silent, "cross_entropy").result().metrics["loss:sum"] == 0
    plain = client.forward([datum([1, 2], [2, 3])], "cross_entropy").result()
    ones = client.forward([datum([1, 2], [2, 3], weights=[1.0, 1.0])], "cross_entropy").result()
    assert plain.metrics == ones.metrics


@test
def steps_that_are_queued_without_waiting_learn(at):
    client = at.client()
    before = loss(client)
    waited = [(client.forward_backward(DATA, "cross_entropy"), client.optim_step(STEP)) for _ in range(3)]
    for gradient, step in waited:
        gradient.result()
        assert step.result().metrics["gradient_norm:mean"] > 0
    assert loss(client) < before


@test
def what_was_saved_is_loaded_to_the_last_bit(at):
    client = at.client()
    client.forward_backward(DATA, "cross_entropy").result()
    client.optim_step(STEP).result()
    saved = client.save_state("here").result().path
    client.save_weights_for_sampler("here").result()
    expected = log_probs(client.forward(DATA, "cross_entropy").result())
    twins = [
        at.service.create_training_client_from_state_with_optimizer(saved).result(),
        at.service.create_training_client_from_state(saved).result(),
    ]
    for twin in twins:
        assert log_probs(twin.forward(DATA, "cross_entropy").result()) == expected
    for one in (client, twins[0]):
        one.forward_backward(DATA, "cross_entropy").result()
        one.optim_step(STEP).result()
    assert loss(client) == loss(twins[0])


@test
def what_is_sampled_is_what_training_sees(at):
    client = at.client()
    sampler = sampler_of(client)
    params = types.SamplingParams(max_tokens=4, temperature=1.0, seed=7)
    answer = sampler.sample(prompt=prompt(1, 2), num_samples=2, include_prompt_logprobs=True, sampling_params=params).result()
    ids = {sequence.sequence_id for sequence in answer.sequences} if hasattr(answer.sequences[0], "sequence_id") else {0, 1}
    assert len(ids) == 2
    for sequence in answer.sequences:
        tokens = [1, 2] + list(sequence.tokens)
        found = log_probs(client.forward([datum(tokens[:-1], tokens[1:])], "cross_entropy").result())[0]
        assert found[1:] == list(sequence.logprobs), (found, sequence.logprobs)
    tokens = [1, 2] + list(answer.sequences[0].tokens)
    count = len(tokens) - 2
    reinforced = [
        datum(
            tokens[:-1],
            tokens[1:],
            logprobs=[0.0] + list(answer.sequences[0].logprobs),
            advantages=[0.0] + [1.0] * count,
        )
    ]
    for name in ("importance_sampling", "ppo"):
        found = client.forward_backward(reinforced, name).result().metrics["loss:sum"]
        assert abs(found + count) < 1e-4, (name, found)
    client.optim_step(types.AdamParams(learning_rate=1e-2, grad_clip_norm=1.0)).result()
    old = sampler.compute_logprobs(prompt(*tokens)).result()
    assert list(old[2:]) == list(answer.sequences[0].logprobs), "the sampler keeps the weights that it has"
    assert loss(client, reinforced_without_rewards(tokens)) != -sum(old[1:])


def reinforced_without_rewards(tokens):
    return [datum(tokens[:-1], tokens[1:])]


@test
def a_refused_call_holds_up_nobody(at):
    client = at.client()
    try:
        client.forward_backward(DATA, "nosuch").result()
    except Exception as error:
        assert "nosuch" in str(error), error
    else:
        raise AssertionError("it was not refused")
    assert client.forward(DATA, "cross_entropy").result(timeout=60)


@test
def a_loss_of_ones_own_is_cross_entropy(at):
    try:
        import torch
    except ImportError:
        print("  no torch: left out")
        return

    def own(data, found):
        total = sum(
            -(torch.tensor(one.loss_fn_inputs["weights"].data) * values).sum() for one, values in zip(data, found)
        )
        return total, {"own": float(total)}

    norms = []
    for custom in (False, True):
        client = at.client()
        if custom:
            client.forward_backward_custom(DATA, own).result()
        else:
            client.forward_backward(DATA, "cross_entropy").result()
        norms.append(client.optim_step(STEP).result().metrics["gradient_norm:mean"])
    assert norms[0] == norms[1], norms


@test
def checkpoints_are_listed_and_removed(at):
    client = at.client()
    path = client.save_state("listed").result().path
    client.save_weights_for_sampler("listed").result()
    rest = at.service.create_rest_client()
    run = path.split("/")[2]
    listed = {one.checkpoint_id for one in rest.list_checkpoints(run).result().checkpoints}
    assert listed == {"weights/listed", "sampler_weights/listed"}, listed
    assert run in {one.training_run_id for one in rest.list_training_runs().result().training_runs}
    rest.delete_checkpoint(run, "weights/listed").result()
    listed = {one.checkpoint_id for one in rest.list_checkpoints(run).result().checkpoints}
    assert listed == {"sampler_weights/listed"}, listed
    try:
        rest.delete_checkpoint(run, "listed").result()
    except tinker.BadRequestError:
        return
    raise AssertionError("an id without its kind was taken")


@test
def two_clients_at_once_end_as_each_does_alone(at):
    def run(seed):
        client = at.client(rank=4 * seed, seed=seed)
        for _ in range(3):
            client.forward_backward(DATA, "cross_entropy")
            client.optim_step(STEP)
        return log_probs(client.forward(DATA, "cross_entropy").result())

    alone = [run(1), run(2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (1, 2))) == alone


@test
def a_large_batch_goes_in_pieces(at):
    tokens = list(range(1, 33))
    large = [datum(tokens, tokens[1:] + [33])] * 1100
    found = at.client().forward(large, "cross_entropy").result()
    assert len(found.loss_fn_outputs) == 1100


@test
def a_base_and_what_was_saved_are_sampled_from(at):
    client = at.client()
    client.forward_backward(DATA, "cross_entropy").result()
    client.optim_step(STEP).result()
    path = client.save_weights_for_sampler("sampled").result().path
    texts = []
    for place in ({"base_model": at.base}, {"model_path": path}):
        sampler = at.service.create_sampling_client(**place)
        sampler = sampler.result() if hasattr(sampler, "result") else sampler
        assert sampler.get_base_model() == at.base
        params = types.SamplingParams(max_tokens=8, temperature=0.5, seed=1, stop=[])
        texts.append(sampler.sample(prompt=prompt(1, 2), num_samples=1, sampling_params=params).result())
    assert texts[0].sequences[0].logprobs != texts[1].sequences[0].logprobs


def main():
    fixture = Fixture()
    failed = 0
    for function in TESTS:
        name = function.__name__.replace("_", " ")
        try:
            function(fixture)
            print(f"{name} ... ok", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{name} ... FAILED", flush=True)
    fixture.service.close("success").result()
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
