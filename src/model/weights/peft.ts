/** Adapters as the Python library PEFT keeps them: adapter_config.json and adapter_model.safetensors. */

import { UserError } from "../../base/user_error.ts";
import { type LoraConfig, loraModules, orderTargets } from "../decoder/lora.ts";

/** Contents of adapter_config.json. */
export interface PeftConfig {
  readonly lora: LoraConfig;
  readonly basePath: string;
}

/**
 * Reads adapter_config.json.
 *
 * @param file how error messages name it
 * @throws UserError naming the key that is missing or not supported
 */
export function parsePeftConfig(json: Readonly<Record<string, unknown>>, file: string): PeftConfig {
  const expect = (key: string, allowed: readonly unknown[]) => {
    const value = json[key] ?? allowed[0];
    if (!allowed.includes(value)) {
      throw new UserError(
        `${file}: ${key} is ${JSON.stringify(value)}; supported: ${
          allowed.map((item) => JSON.stringify(item)).join(", ")
        }`,
      );
    }
  };
  if (json.peft_type !== "LORA") {
    throw new UserError(
      `${file}: peft_type is ${JSON.stringify(json.peft_type)}; supported: "LORA"`,
    );
  }
  expect("bias", ["none"]);
  expect("use_dora", [false]);
  expect("use_rslora", [false]);
  expect("fan_in_fan_out", [false]);
  expect("modules_to_save", [null]);
  expect("layers_to_transform", [null]);
  for (const key of ["rank_pattern", "alpha_pattern"]) {
    if (Object.keys(json[key] ?? {}).length > 0) {
      throw new UserError(`${file}: ${key} is not empty; one rank and alpha for all is supported`);
    }
  }
  const { r: rank, lora_alpha: alpha, target_modules: targets, base_model_name_or_path: base } =
    json;
  if (typeof rank !== "number" || !Number.isInteger(rank) || rank < 4 || rank % 4 !== 0) {
    throw new UserError(
      `${file}: r is ${JSON.stringify(rank)}; the kernels need a multiple of 4`,
    );
  }
  if (typeof alpha !== "number" || !(alpha > 0)) {
    throw new UserError(
      `${file}: lora_alpha is ${JSON.stringify(alpha)}; expected a positive number`,
    );
  }
  const known: readonly unknown[] = loraModules;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every((t) => known.includes(t))) {
    throw new UserError(
      `${file}: target_modules is ${JSON.stringify(targets)}; supported: a list of ${
        loraModules.join(", ")
      }`,
    );
  }
  if (typeof base !== "string" || base === "") {
    throw new UserError(
      `${file}: base_model_name_or_path is missing; it says where the base model is`,
    );
  }
  return { lora: { rank, alpha, targets: orderTargets(targets) }, basePath: base };
}

/** The adapter_config.json that makes PEFT open an adapter. */
export function peftConfigJson({ rank, alpha, targets }: LoraConfig, basePath: string) {
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: basePath,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: targets,
    bias: "none",
    fan_in_fan_out: false,
    use_rslora: false,
    inference_mode: true,
  };
}
