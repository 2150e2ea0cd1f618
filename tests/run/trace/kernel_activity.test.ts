import assert from "node:assert/strict";
import type { KernelListener } from "../../../src/gpu/activity.ts";
import { KernelActivity } from "../../../src/run/trace/kernel_activity.ts";

/** A GPU whose clock counts `tick` milliseconds from a moment of its own, read 0.2 ms or more after the end. */
for (const tick of [1e-6, 1e-5]) {
  Deno.test(`kernels: on the host's clock, with ticks of ${tick * 1e6} ns, of the steps asked for`, () => {
    let time = 0;
    let listener: KernelListener | null = null;
    const gpu = { listenToKernels: (own: KernelListener | null) => void (listener = own) };
    const activity = new KernelActivity(gpu, { first: 2, last: 3 }, () => time);
    const launch = (label: string, begin: number, end: number, late: number) => {
      time = end + late;
      const ticks = (moment: number) => Math.round((moment + 5000) / tick);
      listener?.([{ label, begin: ticks(begin), end: ticks(end) }]);
    };
    const phase = (step: number, phase: "rollout" | "evaluation") =>
      activity.hear({ type: "phaseBegan", step, phase });
    const step = (step: number) =>
      activity.hear({ type: "step", step, phase: "generator", metrics: {}, timings: {} });
    phase(1, "rollout");
    launch("not asked for", 1, 2, 0.2);
    assert.deepEqual(step(1), []);
    phase(2, "rollout");
    launch("gemm", 1000, 1001, 0.7);
    launch("adamw", 1100, 1102, 0.2);
    launch("gemm", 1300, 1301.5, 0.7);
    const found = step(2);
    assert.deepEqual(found.map(({ name, track }) => [name, track]), [
      ["gemm", "kernels"],
      ["adamw", "kernels"],
      ["gemm", "kernels"],
    ]);
    [[1000, 1001], [1100, 1102], [1300, 1301.5]].forEach(([begin, end], i) => {
      // What the host takes at least to hear of an end is not known.
      assert.ok(Math.abs(found[i].begin - begin - 0.2) < 1e-3, `${found[i].begin}`);
      assert.ok(Math.abs(found[i].end - end - 0.2) < 1e-3);
    });
    phase(2, "evaluation");
    assert.equal(listener, null, "an evaluation is no training step");
    phase(3, "rollout");
    assert.notEqual(listener, null);
    phase(4, "rollout");
    assert.equal(listener, null);
  });
}
