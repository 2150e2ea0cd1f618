/**
 * Every family against what transformers computes in float64 with models of odd shapes, and an adapter on each
 * (tests/fixtures/dump_families.py).
 */

import { targetsOf } from "../../../src/model/decoder/lora.ts";
import { assertAsTransformers } from "../as_transformers.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { families, familyModel, setFamilyAdapter } from "../families.ts";

for (const name of Object.keys(families.models)) {
  onEveryGpu(`families: ${name} computes what transformers does`, async (gpu) => {
    const model = familyModel(gpu, name, { trained: true });
    try {
      await assertAsTransformers(model, name);
    } finally {
      model.release();
    }
  });
}

for (const name of Object.keys(families.models).filter((name) => name.endsWith("5"))) {
  onEveryGpu(`families: an adapter on ${name} computes what PyTorch does`, async (gpu) => {
    const base = familyModel(gpu, name, { trained: false });
    // Those on experts are in expert_adapters.test.ts.
    const targets = targetsOf(base.config).filter((target) => !target.startsWith("experts."));
    const config = { rank: 4, alpha: 8, targets };
    const model = base.adapted({ config, basePath: "", trained: true });
    try {
      setFamilyAdapter(model);
      await assertAsTransformers(model, `${name}.lora`);
    } finally {
      model.release();
      base.release();
    }
  });
}
