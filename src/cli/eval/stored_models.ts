/** Policies of a checkpoint, as models that `eval` measures. */

import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import { placeOfCheckpoint } from "../../run/store/checkpoint.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { writeStoredPolicy } from "../../run/tango/write_policy.ts";
import { withGpu } from "../with_gpu.ts";
import type { AskedEvaluation, EvalOptions } from "./eval_config.ts";

/** Begins the name of a folder that is in a run's while a checkpoint of it is measured. */
export const MEASURED = ".measured-";

/**
 * Runs a measurement with folders of models. Of a checkpoint they are written into the run's own folder meanwhile, as
 * the run would have left them then: so they are prompted, and given the problems, as there.
 *
 * @param judgesFiles whether solutions are in files, so that no generator writes them
 * @throws UserError when neither a model nor a run is named, or both are
 */
export async function withModels<Result>(
  asked: AskedEvaluation,
  judgesFiles: boolean,
  body: (options: EvalOptions) => Promise<Result>,
): Promise<Result> {
  const { model, run, checkpoint, verifier, ...options } = asked;
  if ((model === undefined) === (run === undefined)) {
    throw new UserError("Name either a model with --model or a run with --run.");
  }
  if (run === undefined) {
    if (checkpoint !== undefined) {
      throw new UserError("--checkpoint is of a run: name it with --run, and no --model.");
    }
    if (verifier === true) {
      throw new UserError(
        "--verifier without a folder is the run's own: name the folder, or a run.",
      );
    }
    return await body({ ...options, verifier, model: model ?? "" });
  }
  const folder = RunFolder.open(run);
  const config = loadTangoConfig(folder.configuration, { gpu: options.gpu });
  const { step } = placeOfCheckpoint(folder.checkpoints, checkpoint ?? null);
  const place = Deno.makeTempDirSync({ dir: folder.path, prefix: MEASURED });
  try {
    const path = (policy: "generator" | "verifier") => join(place, policy);
    const writesGenerator = options.policy === "verifier" && !judgesFiles &&
      options.generator === undefined;
    const choice = {
      gpu: config.gpu,
      precision: config.precision,
      cacheDtype: config.cache_dtype,
      gpuIndex: options.gpuIndex,
    };
    const written = [
      options.policy,
      ...(writesGenerator ? ["generator"] as const : []),
      ...(verifier === true && options.policy === "generator" ? ["verifier"] as const : []),
    ];
    await withGpu(choice, async (gpu) => {
      for (const policy of written) {
        await writeStoredPolicy(gpu, { run, policy, checkpoint: step }, path(policy));
      }
    });
    const generator = writesGenerator ? path("generator") : options.generator;
    const judge = verifier === true ? path("verifier") : verifier;
    return await body({ ...options, model: path(options.policy), generator, verifier: judge });
  } finally {
    Deno.removeSync(place, { recursive: true });
  }
}
