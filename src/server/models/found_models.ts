/** Models on the disk. */

import { join } from "node:path";

/** A model's folder, or its GGUF file. */
export interface FoundModel {
  /** What a configuration calls it. */
  readonly path: string;
  readonly kind: "model" | "adapter" | "gguf";
  readonly bytes: number;
}

/** A folder in which there may be more models, and why they are not known. */
export interface UnreadFolder {
  readonly path: string;
  readonly reason: string;
}

const DEEPEST = 4;
/** Folders that are looked into, the less deep ones first: whoever asks waits for it. */
const MOST_FOLDERS = 2000;

/** The models in some folders, by path, and what could not be looked into. */
export function findModels(
  folders: readonly string[],
): { readonly models: FoundModel[]; readonly unread: UnreadFolder[] } {
  const models = new Map<string, FoundModel>();
  const unread = new Map<string, UnreadFolder>();
  for (const folder of folders) {
    const waiting = [{ path: folder, depth: 0 }];
    for (let looked = 0; looked < waiting.length; looked++) {
      if (looked === MOST_FOLDERS) {
        const reason = `has more than ${MOST_FOLDERS} folders; name that of the models`;
        unread.set(folder, { path: folder, reason });
        break;
      }
      const { path, depth } = waiting[looked];
      try {
        const entries = [...Deno.readDirSync(path)];
        for (const model of modelsOf(path, entries)) models.set(model.path, model);
        if (depth === DEEPEST) continue;
        for (const { name, isDirectory } of entries) {
          if (isDirectory && !skipped.includes(name) && !name.startsWith(MEASURED)) {
            waiting.push({ path: join(path, name), depth: depth + 1 });
          }
        }
      } catch (error) {
        // Most folders that are allowed need not be there, and any may go meanwhile.
        if (error instanceof Deno.errors.NotFound) continue;
        unread.set(path, { path, reason: (error as Error).message });
      }
    }
  }
  const byPath = (a: { readonly path: string }, b: { readonly path: string }) =>
    a.path < b.path ? -1 : 1;
  return { models: [...models.values()].sort(byPath), unread: [...unread.values()].sort(byPath) };
}

function modelsOf(folder: string, entries: readonly Deno.DirEntry[]): FoundModel[] {
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
  ];
}

/** Begins the names of folders with models for the moment: what `eval` measures of a checkpoint. */
const MEASURED = ".measured-";
/** Of a run: its checkpoints are no model's folders. */
const skipped: readonly string[] = [".tango", "checkpoints"];
