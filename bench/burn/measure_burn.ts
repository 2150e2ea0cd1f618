import { UserError } from "../../src/base/user_error.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { Workbench } from "../benchmark.ts";
import { type ComparedRate, type ComparedWork, measurePairs } from "../model/pairs.ts";
import type { BenchTask } from "../shapes.ts";
import { BurnProcess } from "./burn_process.ts";
import { preparePolicyStep } from "./policy_step.ts";
import { prepareProduct } from "./product.ts";

/** How we are measured beside burn. */
export interface BurnMeasurement {
  readonly cargo: string;
  /** Timed pairs of each. */
  readonly runs: number;
  /** Told what is measured beside, and how far its numbers are from ours. */
  readonly say: (line: string) => void;
  /** Told each rate as it is there. */
  readonly report: (task: BenchTask, rate: ComparedRate<"burn">) => void;
}

/** Makes a work on both sides, after it has compared their numbers. */
export type PrepareBeside = (
  bench: Workbench,
  task: BenchTask,
  peer: BurnProcess,
  /** For files of numbers. */
  folder: string,
  say: (line: string) => void,
) => Promise<Omit<ComparedWork<"burn">, "name">>;

const prepare: Readonly<Record<string, PrepareBeside>> = {
  gemm: prepareProduct,
  training_step: preparePolicyStep,
};

/**
 * Matrix products and the default training step, in turns with burn on the same adapter.
 *
 * @returns what burn runs on, in words
 * @throws UserError when none of the tasks is one of these, burn cannot be built, or it takes another adapter
 * @throws PeerDisagrees when it finds other numbers
 */
export async function measureBurn(
  gpu: Gpu,
  tasks: readonly BenchTask[],
  { cargo, runs, say, report }: BurnMeasurement,
): Promise<string> {
  const compared = tasks.filter(({ kernel }) => kernel in prepare);
  if (compared.length === 0) {
    throw new UserError(
      "--burn measures gemm_nt, gemm_nn, gemm_tn and training_step; --filter leaves none of them",
    );
  }
  const peer = await BurnProcess.start(cargo, gpu.info);
  const folder = Deno.makeTempDirSync({ prefix: "tango-bench-" });
  try {
    if (peer.adapter !== gpu.info.name) {
      throw new UserError(
        `burn runs on ${peer.adapter}, not on ${gpu.info.name}: times would say nothing. ` +
          "Leave it one adapter, with VK_DRIVER_FILES, or choose another with --gpu-index",
      );
    }
    say(`Beside ${peer.description}`);
    for (const task of compared) {
      const bench = new Workbench(gpu);
      try {
        const work = await prepare[task.kernel](bench, task, peer, folder, say);
        const name = `${task.name}/${task.shape.label}`;
        report(task, await measurePairs({ ...work, name }, runs));
      } finally {
        bench.release();
      }
    }
    return peer.description;
  } finally {
    await peer.close();
    Deno.removeSync(folder, { recursive: true });
  }
}
