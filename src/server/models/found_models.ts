/** Models on the disk. */

import { join } from "node:path";

/** A model's folder, or its GGUF file. */
export interface FoundModel {
  /** What a configuration calls it. */
  readonly path: string;
  readonly kind: "model" | "adapter" | "gguf";
  readonly bytes: number;
}

const DEEPEST = 4;

/** The models in some folders, by path. */
export function findModels(folders: readonly string[]): FoundModel[] {
  return folders.flatMap((folder) => modelsIn(folder, DEEPEST))
    .sort((a, b) => a.path < b.path ? -1 : 1);
}

function modelsIn(folder: string, depth: number): FoundModel[] {
  const entries = entriesOf(folder);
  const files = entries.filter(({ isFile }) => isFile).map(({ name }) => name);
  const bytesOf = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + Deno.statSync(join(folder, name)).size, 0);
  const weights = files.filter((name) => name.endsWith(".safetensors"));
  const isAdapter = files.includes("adapter_config.json");
  const isModel = weights.length > 0 && (isAdapter || files.includes("config.json"));
  const kind = isAdapter ? "adapter" : "model";
  return [
    ...(isModel ? [{ path: folder, kind, bytes: bytesOf(weights) } as const] : []),
    ...files.filter((name) => name.endsWith(".gguf")).map((name) => (
      { path: join(folder, name), kind: "gguf", bytes: bytesOf([name]) } as const
    )),
    ...(depth === 0 ? [] : entries
      .filter(({ isDirectory, name }) => isDirectory && !skipped.includes(name))
      .flatMap(({ name }) => modelsIn(join(folder, name), depth - 1))),
  ];
}

/** Of a run: its checkpoints are no model's folders. */
const skipped: readonly string[] = [".tango", "checkpoints"];

function entriesOf(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
