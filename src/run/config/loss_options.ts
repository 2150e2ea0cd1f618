import type { TrainerOptions } from "../../engine/training/trainer.ts";
import { camelCased } from "../../base/camel_cased.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { PolicyUpdateOptions } from "../../rl/update/policy_update.ts";
import type { TangoConfig } from "./config_schema.ts";

/** Responses of a policy are sampled from softmax(logits / temperature). */
export function temperatureOf({ rollout }: TangoConfig, policy: PolicyName): number {
  const { temperature, critique_temperature } = rollout;
  return policy === "verifier" ? critique_temperature ?? temperature : temperature;
}

/** Weight of the divergence of a policy from its starting weights. */
export function klCoefficientOf(
  { loss }: Pick<TangoConfig, "loss">,
  { kl_coefficient: own }: Pick<TangoConfig["generator"], "kl_coefficient">,
): number {
  return own ?? loss.kl_coefficient;
}

/** Whether a policy whose own weights are trained is compared with those that it began with in a KL term. */
export function comparesWhole(
  config: Pick<TangoConfig, "loss" | "generator" | "verifier">,
): boolean {
  const { generator, verifier } = config;
  const judges = verifier?.kind === "generative" ? [verifier] : [];
  return [generator, ...judges].some((policy) =>
    policy.trained && policy.lora === null && klCoefficientOf(config, policy) > 0
  );
}

/**
 * The loss of a policy's updates.
 *
 * @param maximumResponse tokens of its longest response
 */
export function lossOptions(
  config: TangoConfig,
  policy: PolicyName,
  maximumResponse: number,
): PolicyUpdateOptions {
  const temperature = temperatureOf(config, policy);
  const section = config[policy];
  if (section === null) throw new Error(`a ${policy} that is not there has no loss`);
  const klCoefficient = klCoefficientOf(config, section);
  return { ...camelCased(config.loss), klCoefficient, maximumResponse, temperature };
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
