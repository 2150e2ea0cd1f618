import assert from "node:assert/strict";
import { Workbench } from "../../bench/benchmark.ts";
import { endToEnd } from "../../bench/end_to_end/all.ts";
import { benchmarks } from "../../bench/kernels/all.ts";
import { measure } from "../../bench/measure.ts";
import { readPeerLines } from "../../bench/peer.ts";
import { type BenchResult, readResults } from "../../bench/results.ts";
import { listTasks } from "../../bench/shapes.ts";
import {
  describeRatedDevice,
  describeTuning,
  headRow,
  resultRow,
  variantLines,
} from "../../bench/table.ts";
import { UserError } from "../../src/base/user_error.ts";
import { EXIT } from "../../src/cli/program.ts";
import { runCaptured } from "../cli/run_captured.ts";
import { gpuOf, onEveryGpu } from "../kernels/harness.ts";

const rates = { gflops: 100, gbps: 10, driverCopyGbps: 20 };
const result: BenchResult = {
  name: "gemm_nt",
  shape: "tiny",
  unit: "gflops",
  milliseconds: 2,
  spread: 0.1,
  rate: 50,
  share: 0.5,
  error: 0.1,
};

Deno.test("everything in shapes.json can be measured, and filters select by name and shape", () => {
  const known = { ...benchmarks, ...endToEnd };
  for (const { kernel } of listTasks("")) assert.ok(kernel in known, kernel);
  assert.deepEqual(listTasks("gemm_nt/7b").map(({ shape }) => shape.label), ["7b", "7b-decode"]);
  assert.deepEqual(listTasks("adamw/tiny").map(({ name }) => name), ["adamw"]);
  assert.deepEqual(listTasks("/default").map(({ name }) => name), ["training_step", "rollout"]);
  assert.deepEqual(listTasks("rollout").map(({ unit }) => unit), ["tokens_per_second"]);
  assert.throws(() => listTasks("nonsense"), UserError);
});

onEveryGpu("a right kernel is measured as right", async (gpu) => {
  const [task] = listTasks("gemm_nt/tiny");
  const lines: string[] = [];
  const measured = await measure(gpu, task, rates, 0.01, (line) => lines.push(line));
  assert.ok(measured.error <= 1);
  assert.ok(measured.milliseconds > 0);
  assert.ok(Math.abs(measured.rate - 2 * 128 * 64 * 64 / measured.milliseconds / 1e6) < 1e-9);
  assert.ok(Math.abs((measured.share ?? NaN) - measured.rate / 100) < 1e-12);
  assert.equal(measured.variants?.length, 1);
  assert.match(measured.variants?.[0], /^gemm nt f32, some rows, narrow, short sums: \S/);
  assert.deepEqual(lines, []);
});

onEveryGpu("wrong numbers are reported", async (gpu) => {
  const [task] = listTasks("swiglu_forward/tiny");
  const bench = new Workbench(gpu);
  const benchmark = await benchmarks.swiglu(bench, task.shape, task.variant);
  // Not launched: the result still holds zeros.
  const samples = await benchmark.check();
  assert.ok(samples.some(({ actual, expected, bound }) => Math.abs(actual - expected) > bound));
  bench.release();
});

Deno.test("rows show the ratios to PyTorch and to an earlier file", () => {
  const peer = readPeerLines(
    '{"device": "cpu", "name": "some CPU", "threads": 2, "torch": "2.9", "dtype": "f32"}\n' +
      '{"name": "gemm_nt", "shape": "tiny", "milliseconds": 1, "gflops": 100}\n',
  );
  assert.equal(peer.description, "PyTorch 2.9, f32, on some CPU, 2 threads");
  const before = { ...result, milliseconds: 6 };
  const against = { engine: "native", adapter: "x", software: true, rates, results: [before] };
  const row = resultRow(result, { peer, against });
  assert.match(row, /^gemm_nt +tiny +2\.00 +50\.0 GFLOP\/s +50 % +right +1\.00 +0\.50x +3\.0x$/);
  assert.match(headRow({ peer, against }), /PyTorch ms +speed to it +speed to file$/);
  const rollout: BenchResult = {
    ...result,
    name: "rollout",
    shape: "default",
    unit: "tokens_per_second",
    rate: 3072,
    share: null,
  };
  const rolloutPeer = readPeerLines(
    '{"device": "cpu", "name": "some CPU", "threads": 2, "torch": "2.9", "dtype": "f32"}\n' +
      '{"name": "rollout", "shape": "default", "milliseconds": 3, "tokens_per_second": 2048}\n',
  );
  assert.match(
    resultRow(rollout, { peer: rolloutPeer, against: null }),
    /^rollout +default +2\.00 +3072 tokens\/s +- +right +3\.00 +1\.5x$/,
  );
  assert.match(resultRow({ ...result, error: 2 }, { peer: null, against: null }), /WRONG$/);
});

Deno.test({
  name: "a software driver is not called a GPU",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const { info } = await gpuOf("native");
    const text = (software: boolean) => describeRatedDevice({ ...info, software }, rates);
    assert.match(text(true), /software driver on the CPU, not a GPU/);
    assert.doesNotMatch(text(false), /software/);
  },
});

Deno.test("--against a file that is none is a user error", () => {
  assert.throws(() => readResults("/no/such/file.json"), UserError);
  const path = Deno.makeTempFileSync();
  Deno.writeTextFileSync(path, "{}");
  assert.throws(() => readResults(path), /no results in it/);
  Deno.removeSync(path);
});

Deno.test("an option that says nothing beside the others is refused", async () => {
  const bench = { summary: "", load: () => import("../../bench/command.ts") };
  for (
    const [options, message] of [
      ["--model m --seconds 1", /'--seconds <number>' cannot be used with option '--model/],
      ["--model m --against a.json", /'--against <file>' cannot be used with option '--model/],
      ["--runs 2", /--runs says nothing without --model/],
      ["--python p", /--python says nothing without --peer/],
    ] as const
  ) {
    const { code, printed } = await runCaptured({ bench }, ["bench", ...options.split(" ")]);
    assert.equal(code, EXIT.userError, options);
    assert.match(printed, message);
  }
});

Deno.test("by what the variants are chosen is said, and which ran", () => {
  const nothing = { path: "place.json", classes: [], ignored: null };
  assert.equal(
    describeTuning(nothing),
    "Kernels: as the device suggests; ./tango tune measures which are fastest",
  );
  assert.match(
    describeTuning({ ...nothing, ignored: "place.json is damaged" }),
    /; .*damaged, and/,
  );
  const measured = {
    ...{ operation: "gemm", shapeClass: "some", shape: "8x8x8" },
    ...{ suggested: "a", variant: "b", variants: [] },
  };
  assert.equal(
    describeTuning({ ...nothing, classes: [measured] }),
    "Kernels: as place.json has them",
  );
  assert.deepEqual(variantLines([result]), []);
  const variants = ["gemm x: wide", "gemm x: narrow"];
  assert.deepEqual(
    variantLines([{ ...result, variants }, { ...result, variants: ["gemm x: wide"] }]),
    ["", "Variants that ran:", "  gemm x: narrow", "  gemm x: wide"],
  );
});
