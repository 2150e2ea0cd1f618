import assert from "node:assert/strict";
import { DeviceLost, OutOfMemory } from "../../../src/gpu/gpu_failure.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { withMemoryAdvice } from "../../../src/run/memory/out_of_memory.ts";
import { tangoShrinks } from "../../../src/run/memory/tango_shrinks.ts";

Deno.test("memory: a GPU without any left names the settings to lower, another failure is as it was", () => {
  const config = loadTangoConfig("configs/last-letter.yaml");
  const told = withMemoryAdvice(new OutOfMemory("None is left."), config, tangoShrinks);
  assert.ok(told instanceof OutOfMemory);
  assert.match(
    told.message,
    /^None is left\. .*such as with loss\.\w+=\w+, .*rollout\.decode_slots=\d+/,
  );
  const lost = new DeviceLost("It is gone.");
  assert.equal(withMemoryAdvice(lost, config, tangoShrinks), lost);
});
