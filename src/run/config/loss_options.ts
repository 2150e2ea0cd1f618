import type { TrainerOptions } from "../../engine/training/trainer.ts";
import { camelCased } from "../../base/camel_cased.ts";
import type { PolicyUpdateOptions } from "../../rl/update/policy_update.ts";
import type { TangoConfig } from "./config_schema.ts";

/**
 * The loss of a policy's updates.
 *
 * @param maximumResponse tokens of its longest response
 */
export function lossOptions(
  { loss, rollout }: TangoConfig,
  maximumResponse: number,
): PolicyUpdateOptions {
  return { ...camelCased(loss), maximumResponse, temperature: rollout.temperature };
}

/** How trainers compute. */
export function trainerOptions(
  { loss, reduction }: {
    readonly loss: Pick<
      TangoConfig["loss"],
      "micro_batch_tokens" | "gradient_checkpointing" | "share_prompts"
    >;
    readonly reduction: TangoConfig["reduction"];
  },
): TrainerOptions {
  return { ...camelCased(loss), ...reduction };
}
