import assert from "node:assert/strict";
import { requireSameBits } from "../../../src/kernels/choice/same_bits.ts";
import { onEveryGpu } from "../harness.ts";

onEveryGpu("a device gives a row the bits it has among many", (gpu) => requireSameBits(gpu));

onEveryGpu("a device that does not is refused with what to do", async (gpu) => {
  const { dispatch } = gpu;
  const spoil = (label: string) => {
    gpu.dispatch = (source, parameters, ...rest) => {
      const scale = Number(parameters.scale) * (source.label === label ? 1.0001 : 1);
      dispatch.call(
        gpu,
        source,
        { ...parameters, ...("scale" in parameters && { scale }) },
        ...rest,
      );
    };
  };
  try {
    spoil("attention");
    await assert.rejects(
      requireSameBits(gpu),
      /computes wrongly: attention has other bits for one row than for many\. .* Take the other engine \(--gpu (native|dawn)\) or update/,
    );
  } finally {
    gpu.dispatch = dispatch;
  }
});
