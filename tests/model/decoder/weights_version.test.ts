import assert from "node:assert/strict";
import { initialiseAdapter } from "../../../src/model/decoder/initialise.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { adamwNumbers, tinyModel, tinyTrainer } from "../tiny_model.ts";

onEveryGpu("the weights' version changes with every loading and every update", async (gpu) => {
  const base = tinyModel(gpu, { trained: false });
  const options = { config: { rank: 4, alpha: 8, targets: ["q_proj" as const] }, basePath: "base" };
  const adapted = base.adapted({ ...options, trained: true });
  const trainer = tinyTrainer(adapted);
  try {
    const seen = [adapted.weightsVersion];
    const changed = () => {
      assert.ok(adapted.weightsVersion > seen[seen.length - 1]);
      seen.push(adapted.weightsVersion);
    };
    const ofBase = base.weightsVersion;
    assert.ok(adapted.adapter);
    initialiseAdapter(adapted.adapter.parameters, 1);
    changed();
    await trainer.optimStep(adamwNumbers(0.1));
    changed();
    assert.equal(base.weightsVersion, ofBase, "an adapter's changes are not the base's");
    base.parameters.set(await base.parameters.read());
    changed();
    assert.ok(base.weightsVersion > ofBase);
  } finally {
    trainer.release();
    adapted.release();
    base.release();
  }
});
