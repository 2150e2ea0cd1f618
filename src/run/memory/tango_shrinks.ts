import type { TangoConfig } from "../config/config_schema.ts";
import { comparesWhole } from "../config/loss_options.ts";
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
    set: { "loss.gradient_checkpointing": "true" },
  };

const separatePrompts: Shrink<TangoConfig> = (config) =>
  config.loss.share_prompts
    ? {
      config: { ...config, loss: { ...config.loss, share_prompts: false } },
      set: { "loss.share_prompts": "false" },
    }
    : null;

const decodeSlots = (least: number): Shrink<TangoConfig> =>
  halve(
    "rollout.decode_slots",
    least,
    ({ rollout }) => rollout.decode_slots,
    (config, decode_slots) => ({ ...config, rollout: { ...config.rollout, decode_slots } }),
  );

const policies = (
  { generator, verifier }: TangoConfig,
) => [generator, ...(verifier ? [verifier] : [])];

const trainsWhole = (config: TangoConfig) =>
  policies(config).some(({ trained, lora }) => trained && lora === null);

const referencesOnHost: Shrink<TangoConfig> = (config) => {
  if (config.reference_memory === "host" || !comparesWhole(config)) return null;
  return { config: { ...config, reference_memory: "host" }, set: { reference_memory: "host" } };
};

const weightsIn16Bits: Shrink<TangoConfig> = (config) => {
  if (config.trained_dtype !== "float32" || !trainsWhole(config)) return null;
  return { config: { ...config, trained_dtype: "bfloat16" }, set: { trained_dtype: "bfloat16" } };
};

const adapter = (name: "generator" | "verifier"): Shrink<TangoConfig> => (config) => {
  const policy = config[name];
  if (!policy?.trained || policy.lora) return null;
  let next: TangoConfig = { ...config, [name]: { ...policy, lora: loraSchema.parse({}) } };
  const set: Record<string, string> = { [`${name}.lora`]: "{rank: 16}" };
  // What only weights have that are trained themselves goes with the last of them.
  if (!trainsWhole(next) && config.trained_dtype !== "float32") {
    next = { ...next, trained_dtype: "float32" };
    set.trained_dtype = "float32";
  }
  if (!comparesWhole(next) && config.reference_memory !== "gpu") {
    next = { ...next, reference_memory: "gpu" };
    set.reference_memory = "gpu";
  }
  return { config: next, set };
};

/** Changes that make a Tango run smaller, those that cost least first. */
export const tangoShrinks: readonly Shrink<TangoConfig>[] = [
  microBatch(2048),
  checkpointing,
  microBatch(512),
  decodeSlots(16),
  separatePrompts,
  referencesOnHost,
  weightsIn16Bits,
  adapter("generator"),
  adapter("verifier"),
];

/** Changes that make an evaluation smaller. */
export const evaluationShrinks: readonly Shrink<TangoConfig>[] = [decodeSlots(1)];
