import assert from "node:assert/strict";
import { measureModel } from "../../bench/model/measure_model.ts";
import { type ComparedRate, measurePairs } from "../../bench/model/pairs.ts";
import type { HostTime } from "../../bench/model/host_time.ts";
import { hostLine, rateHead, rateRow } from "../../bench/model/rate_table.ts";
import { type PeerType, TransformersProcess } from "../../bench/model/transformers_process.ts";
import { UserError } from "../../src/base/user_error.ts";
import { onEveryGpu } from "../kernels/harness.ts";

onEveryGpu("a model's sampling, forward and backward are measured", async (gpu) => {
  const rates: ComparedRate<PeerType>[] = [];
  const said: string[] = [];
  const host: HostTime[] = [];
  await measureModel(gpu, "weights/last-letter/generator", {
    filter: "",
    runs: 1,
    python: null,
    say: (line) => said.push(line),
    reportHost: (time) => host.push(time),
    report: (rate) => rates.push(rate),
  });
  assert.deepEqual(said, []);
  assert.match(
    host.map(hostLine).join(),
    /^host: [\d.]+ µs of JavaScript for each of \d+ launches of decoding$/,
  );
  assert.deepEqual(rates.map(({ name }) => name), [
    "sample 1",
    "sample 4",
    "sample 16",
    "sample 64",
    "train adapter",
    "train all weights",
  ]);
  assert.ok(rates.every(({ ours, peers }) => ours > 0 && Object.keys(peers).length === 0));
});

Deno.test("a work and its peer's run in turns, and the first turn does not count", async () => {
  const turns: string[] = [];
  const seconds = { f32: [100, 3, 1, 2], bf16: [100, 1, 1, 1] };
  const turnOf = (dtype: PeerType) => () => {
    turns.push(dtype);
    return Promise.resolve(seconds[dtype].shift() ?? NaN);
  };
  const rate = await measurePairs({
    name: "sample 1",
    amount: 6,
    run: () => Promise.resolve(void turns.push("ours")),
    peers: { f32: turnOf("f32"), bf16: turnOf("bf16") },
  }, 3);
  assert.deepEqual(turns, Array(4).fill(["ours", "f32", "bf16"]).flat());
  assert.equal(rate.peers.f32?.rate, 3);
  assert.equal(rate.peers.bf16?.rate, 6);
  assert.ok((rate.peers.f32?.ratio ?? 0) > 1);
});

Deno.test("rates of a model stand beside transformers'", () => {
  const peers = { f32: { rate: 10, ratio: 2 }, bf16: { rate: 40, ratio: 0.5 } };
  const row = rateRow({ name: "sample 16", ours: 20, peers });
  assert.match(row, /^sample 16 +20\.0 +10\.0 +2\.0x +40\.0 +0\.50x$/);
  assert.match(rateHead(true), /ours, tokens\/s +its f32 +speed +its bf16 +speed$/);
  assert.match(rateHead(false), /^ +ours, tokens\/s$/);
});

Deno.test("a Python that is not there or has no transformers is a user's error", async () => {
  const start = (python: string) => TransformersProcess.start(python, "nowhere", { cpu: true });
  await assert.rejects(start("/nowhere/python"), UserError);
  await assert.rejects(start("false"), /ended with 1 under --python false.*requirements\.txt/);
});
