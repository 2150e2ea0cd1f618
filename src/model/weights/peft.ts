/** Adapters as the Python library PEFT keeps them: adapter_config.json and adapter_model.safetensors. */

import { UserError } from "../../base/user_error.ts";
import { hasExperts, hasSharedExperts, type ModelConfig } from "../decoder/config.ts";
import { type ExpertTarget, separateExpertTargets } from "../decoder/expert_lora.ts";
import { type LoraConfig, loraModules, type LoraTarget, orderTargets } from "../decoder/lora.ts";
import { lastName, moduleNames } from "../decoder/names.ts";
import { fusedParameters } from "./peft_experts.ts";

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
  const { r: rank, lora_alpha: alpha, target_modules, base_model_name_or_path: base } = json;
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
  const parameters = targetParameters(json, { rank, alpha }, file);
  const modules = target_modules ?? (parameters.length > 0 ? [] : undefined);
  if (
    !Array.isArray(modules) || modules.length + parameters.length === 0 || !modules.every(isModule)
  ) {
    throw new UserError(
      `${file}: target_modules is ${JSON.stringify(target_modules)}; supported: a list of ${
        loraModules.join(", ")
      }`,
    );
  }
  if (typeof base !== "string" || base === "") {
    throw new UserError(
      `${file}: base_model_name_or_path is missing; it says where the base model is`,
    );
  }
  const targets = orderTargets([...modules, ...parameters]);
  return { lora: { rank, alpha, targets }, basePath: base };
}

/** Whether it names a projection outside experts. */
const isModule = (name: unknown): name is LoraTarget =>
  (loraModules as readonly unknown[]).includes(name);

/**
 * What `target_parameters` names: tensors of experts, and projections by their weights.
 *
 * @throws UserError where it names others, or `rank_pattern` and `alpha_pattern` say something of others
 */
function targetParameters(
  json: Readonly<Record<string, unknown>>,
  { rank, alpha }: Pick<LoraConfig, "rank" | "alpha">,
  file: string,
): LoraTarget[] {
  const names = json.target_parameters ?? [];
  const { expertGateUp: gateUp, expertDown: down } = fusedParameters;
  const isEach = hasOwnTerms(json, { rank, alpha }, Array.isArray(names) ? names : [], file);
  const targets = Array.isArray(names)
    ? names.map((name: unknown): readonly LoraTarget[] | null => {
      if (typeof name !== "string") return null;
      const [last, module, ...others] = name.split(".").reverse();
      // A path that names a layer is of that alone.
      if (others.length > 1) return null;
      if (last === "weight" && isModule(module)) return [module];
      if (module !== undefined && module !== "experts") return null;
      if (last === gateUp) return isEach ? eachOfGateUp : ["experts.gate_up_proj"];
      return last === down ? ["experts.down_proj"] : null;
    })
    : [null];
  if (targets.includes(null)) {
    throw new UserError(
      `${file}: target_parameters is ${
        JSON.stringify(names)
      }; supported: a list of experts.${gateUp}, experts.${down} and weights of projections such as mlp.gate_proj.weight`,
    );
  }
  return targets.flatMap((own) => own ?? []);
}

const eachOfGateUp: readonly ExpertTarget[] = ["experts.gate_proj", "experts.up_proj"];

/** What says that gate and up of experts have terms each by itself: as a pattern, twice the rank and alpha of the others. */
const gateUpPattern = `.*\\.${fusedParameters.expertGateUp}`;

/** @throws UserError where patterns say anything else */
function hasOwnTerms(
  json: Readonly<Record<string, unknown>>,
  { rank, alpha }: Pick<LoraConfig, "rank" | "alpha">,
  parameters: readonly unknown[],
  file: string,
): boolean {
  const { expertGateUp: gateUp } = fusedParameters;
  const isThere = parameters.some((name) => typeof name === "string" && lastName(name) === gateUp);
  const doubled = [["rank_pattern", rank], ["alpha_pattern", alpha]].map(([key, one]) => {
    const entries = Object.entries(json[key] ?? {});
    if (entries.length === 0) return false;
    const [[pattern, value]] = entries;
    const isOfGateUp = entries.length === 1 && isThere && value === 2 * Number(one) &&
      [gateUpPattern, gateUp, `experts.${gateUp}`].includes(pattern);
    if (isOfGateUp) return true;
    throw new UserError(
      `${file}: ${key} is not empty; one rank and alpha for all is supported, or twice both for ${gateUp} of experts`,
    );
  });
  if (doubled[0] !== doubled[1]) {
    throw new UserError(`${file}: rank_pattern and alpha_pattern are not of the same`);
  }
  return doubled[0];
}

/** What an adapter changes, by PEFT's keys. */
function targetKeys({ rank, alpha, targets }: LoraConfig, config: ModelConfig) {
  if (!hasExperts(config)) return { target_modules: targets };
  const { gate, up, down, experts } = moduleNames(config.architecture);
  // PEFT takes these names for experts', unless they are parameters.
  const dense = [gate, up, down].filter((module) => targets.some((t) => t === lastName(module)));
  const isEach = targets.includes("experts.gate_proj");
  const parameters = [
    ...dense.map((module) => `${module}.weight`),
    ...(isEach || targets.includes("experts.gate_up_proj")
      ? [`${experts}.${fusedParameters.expertGateUp}`]
      : []),
    ...(targets.includes("experts.down_proj") ? [`${experts}.${fusedParameters.expertDown}`] : []),
  ];
  const others = targets.filter((target) =>
    isModule(target) && !dense.some((module) => lastName(module) === target)
  );
  // The expert that all share has modules.
  const ofShared = hasSharedExperts(config)
    ? separateExpertTargets.filter((one) => targets.includes(one)).map(lastName)
    : [];
  if (parameters.length === 0) return { target_modules: others };
  return {
    target_modules: [...others, ...ofShared],
    target_parameters: parameters,
    ...(isEach
      ? {
        rank_pattern: { [gateUpPattern]: 2 * rank },
        alpha_pattern: { [gateUpPattern]: 2 * alpha },
      }
      : {}),
  };
}

/** The adapter_config.json that makes PEFT open an adapter on a model. */
export function peftConfigJson(lora: LoraConfig, basePath: string, config: ModelConfig) {
  const { rank, alpha } = lora;
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: basePath,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    ...targetKeys(lora, config),
    bias: "none",
    fan_in_fan_out: false,
    use_rslora: false,
    inference_mode: true,
  };
}
