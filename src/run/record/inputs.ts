import { join } from "node:path";
import { parse } from "yaml";
import { Digest, digestOfFile } from "../../base/digest.ts";
import { isAdapterFolder, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { DataConfig } from "../config/data_schema.ts";
import { promptTemplatePath, type SftConfig } from "../config/sft_config_schema.ts";
import type { Parts } from "../store/audit_log.ts";

/** Something on the disk that a run reads. */
export interface Input {
  /** The configuration key that names it. */
  readonly key: string;
  /** Of a file or a folder. */
  readonly path: string;
}

/** Keys of a configuration that say where a run is and what is told of it, not what it computes. */
export const PLACE_KEYS = [
  "run_directory",
  "gpu",
  "placement",
  "memory_limit_gb",
  "report",
  "tuning",
];

/** What the names of the configuration's parts begin with. */
const CONFIGURATION = "config.";

/** Inputs of a Tango run. */
export function tangoInputs({ generator, verifier, data, rewards }: TangoConfig): Input[] {
  const policies = { generator, ...(verifier && { verifier }) };
  return [
    ...Object.entries(policies).flatMap(([name, { model, prompt_template }]) => [
      { key: `${name}.model`, path: model },
      { key: `${name}.prompt_template`, path: prompt_template },
    ]),
    ...(rewards.module === null ? [] : [{ key: "rewards.module", path: rewards.module }]),
    ...(data === null ? [] : dataInputs(data)),
  ];
}

/** Inputs of a fine-tuning. */
export function sftInputs(config: SftConfig): Input[] {
  const { initial_model, tokenizer, own_solutions, data } = config;
  return [
    ...(initial_model === null ? [] : [{ key: "initial_model", path: initial_model }]),
    ...(tokenizer === null ? [] : [{ key: "tokenizer", path: tokenizer }]),
    ...(data === null ? [] : [
      { key: "prompt_template", path: promptTemplatePath(config) },
      ...dataInputs(data),
    ]),
    ...(own_solutions === null ? [] : [
      { key: "own_solutions.model", path: own_solutions.model },
      { key: "own_solutions.prompt_template", path: own_solutions.prompt_template },
    ]),
  ];
}

function dataInputs(data: DataConfig): Input[] {
  return (["train", "validation", "held_out"] as const).flatMap((part) =>
    (data[part] ?? []).map(({ path }, place) => ({ key: `data.${part}[${place}]`, path }))
  );
}

/**
 * What a run begins with: digests of its configuration and of its inputs.
 *
 * @param configuration path of the run's config.yaml
 */
export async function startParts(
  configuration: string,
  inputs: readonly Input[],
): Promise<Parts> {
  const parts: Record<string, string> = { ...configurationParts(configuration) };
  for (const { key, path } of inputs) parts[key] = await digestOfInput(path);
  return parts;
}

/** Digests of what config.yaml says about the computation, by its keys; where the run lies does not count. */
export function configurationParts(path: string): Parts {
  const said: Record<string, unknown> = parse(Deno.readTextFileSync(path));
  return Object.fromEntries(
    Object.entries(said)
      .filter(([key]) => !PLACE_KEYS.includes(key))
      .map(([key, value]) => [`${CONFIGURATION}${key}`, new Digest().value(value).hex()]),
  );
}

/** The digest of a file, or of all that counts in a folder: names and contents. */
export async function digestOfInput(path: string): Promise<string> {
  if (!Deno.statSync(path).isDirectory) return await digestOfFile(path);
  const digest = new Digest();
  for (const name of filesOf(path)) {
    if (name !== ADAPTER_CONFIG) digest.text(name).text(await digestOfFile(join(path, name)));
  }
  if (isAdapterFolder(path)) {
    // Where the base lies differs from machine to machine; what it holds counts.
    using adapter = openAdapterFolder(path);
    digest.value(adapter.config).text(await digestOfInput(adapter.basePath));
  }
  return digest.hex();
}

const ADAPTER_CONFIG = "adapter_config.json";

/** Names of a folder's files, in order; those of hidden files and of words about it are not among them. */
function filesOf(path: string): string[] {
  return [...Deno.readDirSync(path)]
    .filter(({ name, isDirectory }) => !isDirectory && !/^\.|\.(md|bin|pt|pth|svg)$/i.test(name))
    .map(({ name }) => name)
    .sort();
}
