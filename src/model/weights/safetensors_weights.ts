import { join } from "../../platform/system/paths.ts";
import { UserError } from "../../base/user_error.ts";
import { isStoredType } from "../../kernels/parts/stored_type.ts";
import { isReachable } from "./file_reading.ts";
import { readJson } from "./json_file.ts";
import { SafetensorsFile } from "./safetensors.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

const singleFile = "model.safetensors";
const indexFile = "model.safetensors.index.json";

/**
 * Opens the weights of a Hugging Face folder: one file, or the shards that its index lists.
 *
 * @throws UserError when a file is missing or unsound, or a tensor's type cannot be read
 */
export function openSafetensorsWeights(folder: string): WeightFile {
  const index = join(folder, indexFile);
  return isReachable(join(folder, singleFile)) || !isReachable(index)
    ? openSafetensorsFile(join(folder, singleFile))
    : openFiles(index, shardsOf(folder, index));
}

/**
 * Opens one file.
 *
 * @throws UserError when it is missing or unsound, or a tensor's type cannot be read
 */
export function openSafetensorsFile(path: string): WeightFile {
  return openFiles(path, [path]);
}

function shardsOf(folder: string, index: string): string[] {
  const { weight_map: map } = readJson(index);
  const names = typeof map === "object" && map !== null ? Object.values(map) : [];
  if (names.length === 0) {
    throw new UserError(`${index}: weight_map is missing; it names the file of every tensor`);
  }
  for (const name of names) {
    if (typeof name !== "string" || !/^[\w.-]+\.safetensors$/.test(name)) {
      throw new UserError(
        `${index}: weight_map names ${
          JSON.stringify(name)
        }; expected a .safetensors file beside it`,
      );
    }
  }
  return [...new Set(names as string[])].sort().map((name) => join(folder, name));
}

function openFiles(path: string, paths: readonly string[]): WeightFile {
  const files: SafetensorsFile[] = [];
  const close = () => files.forEach((file) => file.close());
  try {
    const fileOf = new Map<string, SafetensorsFile>();
    const tensors = new Map<string, StoredTensor>();
    for (const shard of paths) {
      const file = SafetensorsFile.open(shard);
      files.push(file);
      for (const name of file.names) {
        if (fileOf.has(name)) {
          throw new UserError(
            `${path}: tensor ${name} is in ${fileOf.get(name)?.path} and ${shard}`,
          );
        }
        fileOf.set(name, file);
        tensors.set(name, describe(file, name));
      }
    }
    return {
      path,
      tensors,
      read(name, begin, bytes) {
        const file = fileOf.get(name);
        if (!file) throw new Error(`${path} has no tensor ${name}`);
        return file.readBytes(name, begin, bytes);
      },
      [Symbol.dispose]: close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function describe(file: SafetensorsFile, name: string): StoredTensor {
  const { dtype, shape } = file.entry(name);
  if (!isStoredType(dtype)) {
    throw new UserError(
      `${file.path}: tensor "${name}" has dtype ${dtype}; weights must be F32, F16 or BF16. ` +
        `Convert the file to one of these.`,
    );
  }
  return { type: dtype, shape, interleavedHead: 0, file: file.path };
}
