import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import {
  type GpuDescription,
  type KernelRates,
  loadGpuDescription,
} from "../../../src/run/plan/gpu_description.ts";
import type { PlannedRun } from "../../../src/run/plan/planned_run.ts";
import { predictPlacements } from "../../../src/run/plan/predict_placements.ts";
import { predict } from "../../../src/run/plan/prediction.ts";
import { rehearseWork } from "../../../src/run/plan/rehearsed_work.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

const h100 = loadGpuDescription("h100");

/** Work of a policy with a reference. */
function policyOf(layers: number) {
  const model = tinyModel(Gpu.rehearsalOf(h100.info, h100.limits), { config: { layers } });
  return rehearseWork({
    model,
    trainer: tinyTrainer(model),
    reference: model,
    hostReference: null,
  });
}
const [policy, deeper] = [await policyOf(2), await policyOf(4)];

function plannedRun(set: readonly string[] = []): PlannedRun {
  const config = loadTangoConfig("configs/last-letter.yaml", {
    set: ["reduction.shards=8", ...set],
  });
  return {
    config,
    generator: policy,
    verifier: config.verifier && policy,
    lengths: {
      problem: 60,
      judgment: 90,
      solution: { mean: 40, maximum: 80 },
      critique: { mean: 60, maximum: 128 },
      steps: 3,
    },
    heldOut: 64,
  };
}

const run = plannedRun();
const colocated = (gpu: GpuDescription, ranks: number, planned = run) =>
  predict(gpu, planned, { kind: "colocated", ranks });

Deno.test("prediction: a rank by itself neither waits nor sends", () => {
  const { idleShare, exchangeShare, bytesPerStep, generatorStep, totalSeconds } = colocated(
    h100,
    1,
  );
  assert.deepEqual([idleShare, exchangeShare, bytesPerStep], [0, 0, 0]);
  assert.ok(generatorStep);
  const { seconds, rollout, verification, gradient, optimizer } = generatorStep;
  const parts = rollout + verification + gradient + optimizer;
  assert.ok(Math.abs(seconds - parts) < 1e-9 * seconds, "the parts are the whole");
  assert.ok(totalSeconds > 290 * 0.5 * Math.min(seconds, parts), "every step counts");
});

Deno.test("prediction: what is faster never makes a run slower", () => {
  const key = fc.constantFrom<keyof KernelRates>("products", "attention", "bandwidth", "launch");
  fc.assert(
    fc.property(
      key,
      fc.double({ min: 1, max: 100, noNaN: true }),
      fc.constantFrom(1, 2, 3, 8),
      (key, factor, ranks) => {
        const rate = h100.rates[key];
        const rates = { ...h100.rates, [key]: key === "launch" ? rate / factor : rate * factor };
        const [before, after] = [colocated(h100, ranks), colocated({ ...h100, rates }, ranks)];
        assert.ok(after.totalSeconds <= before.totalSeconds * (1 + 1e-12));
        const link = { bytesPerSecond: h100.machine.bytesPerSecond * factor, latency: 0 };
        const linked = colocated({ ...h100, machine: link }, ranks);
        assert.ok(linked.totalSeconds <= before.totalSeconds);
      },
    ),
    { numRuns: 15 },
  );
});

Deno.test("prediction: with links that cost nothing more ranks are never slower, and wait more", () => {
  const free = { bytesPerSecond: Infinity, latency: 0 };
  const gpu = { ...h100, machine: free, network: free, hostRate: Infinity };
  const times = [1, 2, 4, 8].map((ranks) => colocated(gpu, ranks));
  for (let i = 1; i < times.length; i++) {
    assert.ok(times[i].meanStepSeconds < times[i - 1].meanStepSeconds);
    assert.ok(times[i].meanStepSeconds > times[i - 1].meanStepSeconds / 2, "no more than twice");
    assert.ok(times[i].idleShare > 0 && times[i].idleShare < 1);
  }
});

Deno.test("prediction: longer responses, larger models and more of them take longer", () => {
  const seconds = (planned: PlannedRun) => colocated(h100, 4, planned).meanStepSeconds;
  const longer = {
    ...run,
    lengths: { ...run.lengths, solution: { mean: 60, maximum: 80 } },
  };
  assert.ok(seconds(longer) > seconds(run));
  assert.ok(seconds({ ...run, generator: deeper }) > seconds(run));
  assert.ok(seconds(plannedRun(["rollout.batch_size=64"])) > seconds(run));
  const alone = plannedRun(["verifier=null"]);
  assert.equal(colocated(h100, 4, alone).verifierStep, null);
});

Deno.test("prediction: going on from the ends of steps is counted, in either kind of step", () => {
  const parts = ["rollout", "verification", "continuation", "gradient", "optimizer"] as const;
  const [values, paid] = ["advantage.judgments", "rewards.verifier_steps"].map((key) =>
    colocated(h100, 1, plannedRun([`${key}=prefix`]))
  );
  for (const step of [values.generatorStep, paid.verifierStep]) {
    assert.ok(step && step.continuation > 0);
    const sum = parts.reduce((sum, part) => sum + step[part], 0);
    assert.ok(Math.abs(step.seconds - sum) < 1e-9 * sum, "the parts are the whole");
  }
  assert.equal(values.verifierStep?.continuation, 0);
  assert.equal(paid.generatorStep?.continuation, 0);
  const before = colocated(h100, 1).totalSeconds;
  assert.ok(values.totalSeconds > before && paid.totalSeconds > before);
});

Deno.test("prediction: both placements, and what cannot be is refused", () => {
  const [together, split] = predictPlacements(h100, run, 8);
  assert.equal(together.placement.kind, "colocated");
  assert.ok(split.placement.kind === "split");
  assert.ok(split.idleShare > together.idleShare, "one side waits for the other");
  assert.equal(predictPlacements(h100, run, 1).length, 1);
  assert.equal(predictPlacements(h100, plannedRun(["verifier=null"]), 4).length, 1);
  assert.throws(() => predictPlacements(h100, plannedRun(["reduction.shards=4"]), 8), {
    name: "UserError",
    message: /reduction\.shards=8/,
  });
  // More ranks than problems: those without one wait.
  const many = plannedRun(["reduction.shards=64"]);
  const [enough, surplus] = [32, 64].map((ranks) => colocated(h100, ranks, many));
  assert.ok(surplus.idleShare > enough.idleShare);
});

Deno.test("GPU descriptions: those that come along are sound; nonsense is refused by its place", () => {
  for (const name of ["h100", "rtx4090", "7900xtx", "m3"]) {
    const { rates, memoryBytes, isMeasured } = loadGpuDescription(name);
    assert.ok(Object.values(rates).every((rate) => rate > 0) && memoryBytes > 1e10 && !isMeasured);
  }
  assert.throws(() => loadGpuDescription("h200"), { name: "UserError", message: /7900xtx, h100/ });
  const folder = Deno.makeTempDirSync();
  const own = join(folder, "own.yaml");
  const text = Deno.readTextFileSync("configs/gpus/m3.yaml");
  const refused = (changed: string, message: RegExp) => {
    Deno.writeTextFileSync(own, changed);
    assert.throws(() => loadGpuDescription(own), { name: "UserError", message });
  };
  refused(text.replace("memory_gb: 17", "memory_gb: -1"), /own\.yaml:\d+: memory_gb is -1/);
  refused(text.replace("products: 0.3", "products: 3"), /reached\.products is 3/);
  refused(text.replace(/^disk_gbps.*$/m, ""), /disk_gbps is missing/);
  refused(`${text}bench: rates.json\n`, /either bench/);
});

Deno.test("GPU descriptions: rates that bench measured take the place of published ones", () => {
  const folder = Deno.makeTempDirSync();
  const result = (name: string, shape: string, rate: number, milliseconds = 5) => ({
    name,
    shape,
    unit: "gflops",
    rate,
    milliseconds,
  });
  const results = [
    result("gemm_nt", "square1024", 30),
    result("gemm_nn", "square1024", 10),
    result("gemm_tn", "square1024", 20),
    result("gemm_nt", "tiny", 1, 0.2),
    result("attention_forward", "small", 7),
    result("swiglu_forward", "tiny", 1, 0.05),
  ];
  const file = join(folder, "rates.json");
  Deno.writeTextFileSync(file, JSON.stringify({ rates: { gbps: 9 }, results }));
  const own = join(folder, "own.yaml");
  const text = Deno.readTextFileSync("configs/gpus/m3.yaml");
  const rest = text.replace(/^(peak|reached):\n( {2}.*\n)+/gm, "").replace(/^launch.*\n/m, "");
  Deno.writeTextFileSync(own, `${rest}bench: rates.json\n`);
  const { rates, isMeasured } = loadGpuDescription(own);
  assert.deepEqual(rates, { products: 20e9, attention: 7e9, bandwidth: 9e9, launch: 0.05 / 1000 });
  assert.ok(isMeasured);
  Deno.writeTextFileSync(own, `${rest}bench: rates.json\nshared_by: 2\n`);
  const halved = { products: 10e9, attention: 3.5e9, bandwidth: 4.5e9, launch: 0.1 / 1000 };
  assert.deepEqual(loadGpuDescription(own).rates, halved);
  Deno.writeTextFileSync(file, JSON.stringify({ rates: { gbps: 9 }, results: results.slice(3) }));
  assert.throws(() => loadGpuDescription(own), {
    name: "UserError",
    message: /no measurement of matrix products/,
  });
});
