/** Adapters on experts against what PEFT computes in float64 with models of odd shapes. */

import { onEveryGpu } from "../../kernels/harness.ts";
import { assertAsTransformers } from "../as_transformers.ts";
import {
  expertAdapterConfig,
  expertAdapterNames,
  expertAdapterNumbers,
  expertAdapters,
} from "../expert_adapters.ts";
import { familyModel, setFamilyAdapter } from "../families.ts";

for (const name of expertAdapterNames) {
  onEveryGpu(`expert adapters: ${name} computes what PEFT does`, async (gpu) => {
    const base = familyModel(gpu, expertAdapters[name], { trained: false });
    const config = expertAdapterConfig(name, base.config);
    const model = base.adapted({ config, basePath: "", trained: true });
    try {
      setFamilyAdapter(model);
      await assertAsTransformers(model, name, expertAdapterNumbers);
    } finally {
      model.release();
      base.release();
    }
  });
}
