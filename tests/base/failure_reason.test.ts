import assert from "node:assert/strict";
import { reasonOf } from "../../src/base/failure_reason.ts";
import { Failure } from "../../src/base/failure.ts";
import { OutOfMemory } from "../../src/gpu/gpu_failure.ts";
import { toldEvent } from "../../src/run/events/told_event.ts";
import { Divergence } from "../../src/run/health/divergence.ts";
import { withMemoryAdvice } from "../../src/run/memory/out_of_memory.ts";
import { halve } from "../../src/run/memory/shrink.ts";

Deno.test("failure reason: a divergence names its learning rate, whatever is wrapped around it", () => {
  const error = new Divergence("words", "verifier", "verifier.optimizer", 3);
  const reason = { code: "diverged", learningRate: "verifier.optimizer.learning_rate" };
  const wrapped = new Failure("more words", { cause: error });
  assert.deepEqual(reasonOf(wrapped), reason);
  assert.deepEqual(toldEvent({ type: "failed", step: 4, error: wrapped }), {
    ...{ type: "failed", step: 4, message: "more words", reason },
  });
  // A policy that is not trained has none.
  assert.deepEqual(reasonOf(new Divergence("words", "generator", null, null)), {
    ...{ code: "diverged", learningRate: null },
  });
});

Deno.test("failure reason: a run without memory names settings that take less, and other errors name nothing", () => {
  const slots = halve<{ slots: number }>(
    "rollout.decode_slots",
    16,
    ({ slots }) => slots,
    (_, slots) => ({ slots }),
  );
  const told = withMemoryAdvice(new OutOfMemory("none left"), { slots: 256 }, [slots]);
  assert.deepEqual(reasonOf(told), {
    ...{ code: "out-of-memory", settings: { "rollout.decode_slots": "128" } },
  });
  for (const error of [new Error("not finite"), "text", null, { reason: { code: "diverged" } }]) {
    assert.equal(reasonOf(error), null);
  }
  assert.deepEqual(toldEvent({ type: "failed", step: 0, error: new Error("x") }), {
    ...{ type: "failed", step: 0, message: "x" },
  });
});
