/**
 * Checkpoints: `checkpoints/step-000123/` with one safetensors file for each named set of arrays (a
 * policy with its optimizer, say) and `state.json` with everything else that a step depends on.
 */

import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import {
  encodeSafetensors,
  SafetensorsFile,
  type Tensor,
} from "../../model/weights/safetensors.ts";
import {
  exists,
  removeIfPresent,
  writeFileDurably,
  writeFolderAtomically,
} from "../../base/atomic_file.ts";
import type { JsonValue } from "./json_lines_log.ts";

/** Arrays by name; 32-bit floats or unsigned integers, kept bit for bit. */
export type NamedArrays = Readonly<
  Record<string, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>
>;

/** What a checkpoint keeps. */
export interface Checkpoint<State extends JsonValue = JsonValue> {
  /** The global step after which it was taken. */
  readonly step: number;
  /** Sets of arrays by name (letters, digits, `_` and `-`): each becomes one safetensors file. */
  readonly arrays: Readonly<Record<string, NamedArrays>>;
  /** Schedule position, data position, random counters, moving averages… : any JSON value. */
  readonly state: State;
}

/** The step of a checkpoint and its folder. */
export interface CheckpointPlace {
  readonly step: number;
  readonly path: string;
}

interface StateFile {
  format: number;
  step: number;
  state: JsonValue;
  files: Record<string, { bytes: number; sha256: string }>;
}

const FORMAT = 1;
const STATE_FILE = "state.json";

/**
 * Writes a checkpoint beside, syncs and renames it, then removes what it supersedes: all but the newest
 * `keep`, and any of later steps, which belong to a course of the run that was given up on resuming.
 *
 * @param folder the run's checkpoints folder; made when absent
 * @param keep how many checkpoints to leave, at least 1
 * @returns the new checkpoint's folder
 */
export function saveCheckpoint(folder: string, checkpoint: Checkpoint, keep: number): string {
  const path = join(folder, `step-${String(checkpoint.step).padStart(6, "0")}`);
  writeFolderAtomically(path, (unfinished) => {
    const state: StateFile = {
      format: FORMAT,
      step: checkpoint.step,
      state: checkpoint.state,
      files: {},
    };
    for (const [name, arrays] of Object.entries(checkpoint.arrays)) {
      if (!/^[\w-]+$/.test(name)) throw new Error(`"${name}" cannot be the name of an array set`);
      const pieces = encodeSafetensors(tensorsOf(arrays));
      const fileName = `${name}.safetensors`;
      writeFileDurably(join(unfinished, fileName), pieces);
      const hash = createHash("sha256");
      for (const piece of pieces) hash.update(piece);
      state.files[fileName] = {
        bytes: pieces.reduce((sum, piece) => sum + piece.length, 0),
        sha256: hash.digest("hex"),
      };
    }
    writeFileDurably(join(unfinished, STATE_FILE), JSON.stringify(state, null, 1) + "\n");
  });
  removeSuperseded(folder, checkpoint.step, keep);
  return path;
}

/** All checkpoints in a folder, oldest first; half-written ones are not among them. */
export function listCheckpoints(folder: string): CheckpointPlace[] {
  if (!exists(folder)) return [];
  const places: CheckpointPlace[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const match = /^step-(\d{6,})$/.exec(name);
    if (isDirectory && match !== null) {
      places.push({ step: Number(match[1]), path: join(folder, name) });
    }
  }
  return places.sort((a, b) => a.step - b.step);
}

/** The newest checkpoint whose files are all there in full length, or null when there is none. */
export function latestCheckpoint(folder: string): CheckpointPlace | null {
  return listCheckpoints(folder).findLast(({ path }) => isComplete(path)) ?? null;
}

/** Checkpoints newer than the latest whole one, which a resumed run therefore passes over. */
export function skippedCheckpoints(folder: string): CheckpointPlace[] {
  const latest = latestCheckpoint(folder)?.step ?? -1;
  return listCheckpoints(folder).filter(({ step }) => step > latest);
}

/**
 * Reads a checkpoint and verifies it.
 *
 * @throws UserError when it is incomplete or its content is not what was written
 */
export function loadCheckpoint<State extends JsonValue>(path: string): Checkpoint<State> {
  const { step, state, files } = readState(path);
  const arrays: Record<string, NamedArrays> = {};
  for (const [fileName, { bytes, sha256 }] of Object.entries(files)) {
    const file = join(path, fileName);
    if (!exists(file)) throw incomplete(path, `${fileName} is missing`);
    const size = Deno.statSync(file).size;
    if (size !== bytes) throw incomplete(path, `${fileName} has ${size} bytes instead of ${bytes}`);
    if (hashOfFile(file) !== sha256) {
      throw incomplete(path, `the content of ${fileName} has changed since it was written`);
    }
    arrays[basename(fileName, ".safetensors")] = readArrays(file);
  }
  return { step, arrays, state: state as State };
}

function incomplete(path: string, what: string): UserError {
  return new UserError(
    `The checkpoint ${path} cannot be used: ${what}. Remove that folder to resume from the one before.`,
  );
}

function readState(path: string): StateFile {
  const file = join(path, STATE_FILE);
  if (!exists(file)) throw incomplete(path, `${STATE_FILE} is missing`);
  let parsed: Partial<StateFile> | null;
  try {
    parsed = JSON.parse(Deno.readTextFileSync(file));
  } catch (error) {
    throw incomplete(path, `${STATE_FILE} is not JSON (${(error as Error).message})`);
  }
  const { format, step, state, files } = parsed ?? {};
  if (format !== undefined && format !== FORMAT) {
    throw incomplete(path, `it has format ${format}; this program reads format ${FORMAT}`);
  }
  if (typeof step !== "number" || state === undefined || typeof files !== "object") {
    throw incomplete(path, `${STATE_FILE} lacks step, state or files`);
  }
  return { format: FORMAT, step, state, files };
}

function isComplete(path: string): boolean {
  try {
    return Object.entries(readState(path).files).every(([fileName, { bytes }]) =>
      Deno.statSync(join(path, fileName)).size === bytes
    );
  } catch (error) {
    if (error instanceof UserError || error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function removeSuperseded(folder: string, step: number, keep: number): void {
  const places = listCheckpoints(folder);
  for (const { path } of places.filter((place) => place.step > step)) removeIfPresent(path);
  const current = places.filter((place) => place.step <= step);
  for (const { path } of current.slice(0, -keep)) removeIfPresent(path);
  for (const { name } of [...Deno.readDirSync(folder)]) {
    if (/^step-\d+(\.replaced)?\.tmp$/.test(name)) removeIfPresent(join(folder, name));
  }
}

function tensorsOf(arrays: NamedArrays): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(arrays).map(([name, data]) => [
      name,
      { dtype: data instanceof Float32Array ? "F32" : "U32", shape: [data.length], data },
    ]),
  );
}

function readArrays(path: string): NamedArrays {
  using file = SafetensorsFile.open(path);
  const arrays: Record<string, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>> = {};
  for (const name of file.names) {
    const { dtype, data } = file.read(name);
    if (dtype !== "F32" && dtype !== "U32") {
      throw new UserError(`${path}: "${name}" has dtype ${dtype}; a checkpoint holds F32 and U32.`);
    }
    arrays[name] = data as Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
  }
  return arrays;
}

function hashOfFile(path: string): string {
  const hash = createHash("sha256");
  const file = Deno.openSync(path, { read: true });
  try {
    const buffer = new Uint8Array(1 << 20);
    for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
      hash.update(buffer.subarray(0, read));
    }
  } finally {
    file.close();
  }
  return hash.digest("hex");
}
