import type { TangoConfig } from "../config/config_schema.ts";
import type { Shrink } from "./memory_check.ts";
import { loraSchema } from "../config/shared_schema.ts";

/** Halves a number of the configuration down to a least value. */
function halve(
  key: string,
  least: number,
  get: (config: TangoConfig) => number,
  put: (config: TangoConfig, value: number) => TangoConfig,
): Shrink<TangoConfig> {
  return (config) => {
    const value = Math.max(least, Math.floor(get(config) / 2));
    return value >= get(config) ? null : { config: put(config, value), set: `${key}=${value}` };
  };
}

const microBatch = (least: number) =>
  halve(
    "loss.micro_batch_tokens",
    least,
    ({ loss }) => loss.micro_batch_tokens,
    (config, micro_batch_tokens) => ({ ...config, loss: { ...config.loss, micro_batch_tokens } }),
  );

const checkpointing: Shrink<TangoConfig> = (config) =>
  config.loss.gradient_checkpointing ? null : {
    config: { ...config, loss: { ...config.loss, gradient_checkpointing: true } },
    set: "loss.gradient_checkpointing=true",
  };

const separatePrompts: Shrink<TangoConfig> = (config) =>
  config.loss.share_prompts
    ? {
      config: { ...config, loss: { ...config.loss, share_prompts: false } },
      set: "loss.share_prompts=false",
    }
    : null;

const decodeSlots = halve(
  "rollout.decode_slots",
  16,
  ({ rollout }) => rollout.decode_slots,
  (config, decode_slots) => ({ ...config, rollout: { ...config.rollout, decode_slots } }),
);

const adapter = (name: "generator" | "verifier"): Shrink<TangoConfig> => (config) => {
  const policy = config[name];
  if (!policy || policy.lora || (name === "verifier" && !config.verifier?.trained)) return null;
  const lora = loraSchema.parse({});
  return { config: { ...config, [name]: { ...policy, lora } }, set: `${name}.lora={rank: 16}` };
};

/** What makes a Tango run smaller, what costs least first. */
export const tangoShrinks: readonly Shrink<TangoConfig>[] = [
  microBatch(2048),
  checkpointing,
  microBatch(512),
  decodeSlots,
  separatePrompts,
  adapter("generator"),
  adapter("verifier"),
];
