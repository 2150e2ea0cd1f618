import type { PolicyName } from "../../rl/policy.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { runOfModel } from "../../run/store/model_run.ts";
import { configure } from "../eval/eval_config.ts";
import type { BenchmarkOptions } from "./benchmarks.ts";

/** Whose prompts and lengths a model has that lies in no run: the published run's, in raw text. */
export const defaultPrompts = "configs/tango-qwen2.5-7b.yaml";

/** What that run takes to fit its GPUs is not how other models are asked. */
const OWN_MEMORY = ["cache_dtype=f32", "rollout.decode_slots=160"];

/**
 * How a model is asked: by --config, else as in its run.
 *
 * @throws UserError when a configuration is wrong
 */
export function configOf(
  policy: PolicyName,
  model: string,
  { config, set, seed, gpu }: BenchmarkOptions,
): TangoConfig {
  const isDefault = config === undefined && runOfModel(model) === null;
  const asked = { model, policy, k: 1, seed, gpu };
  return configure(
    isDefault
      ? { ...asked, config: defaultPrompts, set: [...OWN_MEMORY, ...set ?? []] }
      : { ...asked, config, set },
    policy === "verifier",
  );
}
