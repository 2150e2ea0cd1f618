import type { TangoConfig } from "../config/config_schema.ts";
import { halve, type Shrink } from "./shrink.ts";
import { loraSchema } from "../config/shared_schema.ts";

const microBatch = (least: number): Shrink<TangoConfig> =>
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

const decodeSlots = (least: number): Shrink<TangoConfig> =>
  halve(
    "rollout.decode_slots",
    least,
    ({ rollout }) => rollout.decode_slots,
    (config, decode_slots) => ({ ...config, rollout: { ...config.rollout, decode_slots } }),
  );

const adapter = (name: "generator" | "verifier"): Shrink<TangoConfig> => (config) => {
  const policy = config[name];
  if (!policy?.trained || policy.lora) return null;
  const lora = loraSchema.parse({});
  return { config: { ...config, [name]: { ...policy, lora } }, set: `${name}.lora={rank: 16}` };
};

/** Changes that make a Tango run smaller, those that cost least first. */
export const tangoShrinks: readonly Shrink<TangoConfig>[] = [
  microBatch(2048),
  checkpointing,
  microBatch(512),
  decodeSlots(16),
  separatePrompts,
  adapter("generator"),
  adapter("verifier"),
];

/** Changes that make an evaluation smaller. */
export const evaluationShrinks: readonly Shrink<TangoConfig>[] = [decodeSlots(1)];
