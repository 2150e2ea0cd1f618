import { readDirSync, readTextFileSync, statSync } from "../../platform/system/files.ts";
import { basename, dirname, join, relative } from "../../platform/system/paths.ts";
import { parse } from "yaml";
import { exists } from "../../platform/files/atomic_file.ts";
import { Digest, digestOfFile } from "../../platform/files/digest.ts";
import { findDataFiles } from "../../data/files/data_paths.ts";
import { isAdapterFolder, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { DataConfig } from "../config/data_schema.ts";
import { promptTemplatePath, type SftConfig } from "../config/sft_config_schema.ts";
import type { Parts } from "../store/audit_log.ts";

/** Something on the disk that a run reads. */
export interface Input {
  /** The configuration key that names it. */
  readonly key: string;
  readonly kind: "model" | "tokenizer" | "data" | "text";
  /** Of a file or a folder. */
  readonly path: string;
}

/** Keys of a configuration that say where a run is and what is told of it, not what it computes. */
export const PLACE_KEYS = [
  "run_directory",
  "output_directory",
  "gpu",
  "placement",
  "distributed",
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
    ...Object.entries(policies).flatMap(([name, { model, prompt_template }]): Input[] => [
      { key: `${name}.model`, kind: "model", path: model },
      { key: `${name}.prompt_template`, kind: "text", path: prompt_template },
    ]),
    ...input("verifier.reference", "model", verifier?.reference ?? null),
    ...input("rewards.module", "text", rewards.module),
    ...dataInputs(data),
  ];
}

/** Inputs of a fine-tuning. */
export function sftInputs(config: SftConfig): Input[] {
  const { initial_model, tokenizer, own_solutions, data } = config;
  return [
    ...input("initial_model", "model", initial_model),
    ...input("tokenizer", "tokenizer", tokenizer),
    ...input("prompt_template", "text", promptTemplatePath(config)),
    ...input("own_solutions.model", "model", own_solutions?.model ?? null),
    ...input("own_solutions.prompt_template", "text", own_solutions?.prompt_template ?? null),
    ...dataInputs(data),
  ];
}

const input = (key: string, kind: Input["kind"], path: string | null): Input[] =>
  path === null ? [] : [{ key, kind, path }];

function dataInputs(data: DataConfig | null): Input[] {
  if (data === null) return [];
  return (["train", "validation", "held_out"] as const).flatMap((part) =>
    (data[part] ?? []).flatMap(({ path }, place) => input(`data.${part}[${place}]`, "data", path))
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
  for (const one of inputs) parts[one.key] = await digestOfInput(one);
  return parts;
}

/** Digests of what config.yaml says about the computation, by its keys; where the run lies does not count. */
export function configurationParts(path: string): Parts {
  const said: Record<string, unknown> = parse(readTextFileSync(path));
  return Object.fromEntries(
    Object.entries(said)
      .filter(([key]) => !PLACE_KEYS.includes(key))
      .map(([key, value]) => [`${CONFIGURATION}${key}`, new Digest().value(value).hex()]),
  );
}

/** The key of the configuration that a part of a run's beginning is of; null for an input. */
export function configurationKey(part: string): string | null {
  return part.startsWith(CONFIGURATION) ? part.slice(CONFIGURATION.length) : null;
}

/**
 * The digest of all that is read of an input: names and contents.
 *
 * @throws Error when it is not there, or cannot be read
 */
export async function digestOfInput({ kind, path }: Omit<Input, "key">): Promise<string> {
  switch (kind) {
    case "text":
      return await digestOfFile(path);
    case "data": {
      const files = await findDataFiles(path);
      return await digestOfFiles(path, files.map((file) => relative(path, file.path)));
    }
    case "tokenizer": {
      const folder = path.endsWith(".json") ? dirname(path) : path;
      const names = [path.endsWith(".json") ? basename(path) : "tokenizer.json", ...SETTINGS];
      return await digestOfFiles(folder, names.filter((name) => exists(join(folder, name))));
    }
    case "model":
      return await digestOfModel(path, true);
  }
}

/** Files beside a tokenizer.json that say how it is used. */
const SETTINGS = ["tokenizer_config.json", "chat_template.jinja"];

/** Files of a model's folder that are read; an adapter's configuration is told apart from where its base lies. */
const MODEL_FILE =
  /^(.*\.safetensors|.*\.safetensors\.index\.json|config\.json|generation_config\.json|tokenizer(_config)?\.json|chat_template\.jinja|judgment_labels\.json)$/;

/**
 * The digest of a model: of a .gguf file, or of what a folder is read for.
 *
 * @param withBase whether what an adapter is laid on belongs to it
 */
export async function digestOfModel(path: string, withBase: boolean): Promise<string> {
  if (!statSync(path).isDirectory) return await digestOfFile(path);
  const names = [...readDirSync(path)].map(({ name }) => name);
  const files = await digestOfFiles(path, names.filter((name) => MODEL_FILE.test(name)));
  if (!isAdapterFolder(path)) return files;
  using adapter = openAdapterFolder(path);
  const base = withBase ? await digestOfModel(adapter.basePath, true) : "";
  return new Digest().text(files).value(adapter.config).text(base).hex();
}

async function digestOfFiles(folder: string, names: readonly string[]): Promise<string> {
  const digest = new Digest();
  for (const name of [...names].sort()) {
    digest.text(name).text(await digestOfFile(join(folder, name)));
  }
  return digest.hex();
}
