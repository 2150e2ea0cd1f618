/** A model's process without a model: it samples as `StubSampler` does, and breaks its pipe when it is told to. */

import { PolicyTurns } from "../../../src/server/serving/policies.ts";
import { ProcessPipes } from "../../../src/server/serving/process_pipes.ts";
import { ServingLoop } from "../../../src/server/serving/serving_loop.ts";
import type { FromModel, ToModel } from "../../../src/server/serving/messages.ts";
import { StubGpu, StubSampler } from "./stubs.ts";

/** An adapter's folder that breaks the pipe and leaves the process alive. */
export const BREAKS = "breaks";

if (import.meta.main) {
  const fail = (error: unknown) => {
    console.error(error);
    Deno.exit(1);
  };
  const pipes = new ProcessPipes<ToModel, FromModel>(fail);
  const gpu = new StubGpu(4);
  const policies = new PolicyTurns((folder) => gpu.load(folder), (folder) => gpu.markOf(folder));
  const state = () => ({
    ...{ pages: 1, availablePages: 1, trained: gpu.trained.size },
    ...{ sampled: policies.adapters, memoryBytes: gpu.taken },
  });
  const loop = new ServingLoop({ policies, adapters: gpu, state }, pipes, fail);
  pipes.tell({
    type: "ready",
    info: {
      ...{ maximumTokens: 1000, maximumExample: 1000, slots: StubSampler.slots },
      device: { name: "none", index: 0, software: true, engine: "native" },
      ...{ peakBytes: 0, adaptable: true },
    },
  });
  for await (const message of pipes.messages()) {
    if (message.type === "sample" && message.adapter === BREAKS) {
      // A message of one byte, which means nothing.
      await Deno.stdout.write(new Uint8Array([0, 0, 0, 1, 255]));
    } else loop.take(message);
  }
}
