/**
 * Checkpoints: `checkpoints/step-000123/` with one safetensors file for each named set of tensors (a
 * policy with its optimizer, say) and `state.json` with everything else that a step depends on. Tensors
 * pass through in pieces: host memory does not grow with them.
 */

import { createHash, type Hash } from "node:crypto";
import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import {
  encodeSafetensors,
  type PieceReceiver,
  SafetensorsFile,
  type TensorEntry,
  type TensorStream,
} from "../../model/weights/safetensors.ts";
import {
  exists,
  removeIfPresent,
  writeFileDurably,
  writeFolderAtomically,
  writePiecesDurably,
} from "../../base/atomic_file.ts";
import { pieceBytes } from "../../gpu/tensor_pieces.ts";
import type { JsonValue } from "./json_lines_log.ts";
import { CONTINUE } from "./run_folder.ts";

/** What a checkpoint keeps. */
export interface Checkpoint<State extends JsonValue = JsonValue> {
  /** The global step after which it was taken. */
  readonly step: number;
  /** Sets of tensors by name (letters, digits, `_` and `-`): each becomes one safetensors file. */
  readonly tensors: Readonly<Record<string, Readonly<Record<string, TensorStream>>>>;
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
 * @throws UserError when the disk does not take it; earlier checkpoints are then as they were
 */
export async function saveCheckpoint(
  folder: string,
  { step, tensors, state }: Checkpoint,
  keep: number,
): Promise<string> {
  const path = join(folder, `step-${String(step).padStart(6, "0")}`);
  const sets = Object.entries(tensors).map(([name, set]) => {
    if (!/^[\w-]+$/.test(name)) throw new Error(`"${name}" cannot be the name of a set`);
    return { file: fileOf(name), content: encodeSafetensors(set) };
  });
  const bytes = sets.reduce((sum, { content }) => sum + content.bytes, 0);
  await writeFolderAtomically({ path, bytes, next: CONTINUE }, async (unfinished) => {
    const files: StateFile["files"] = {};
    for (const { file, content } of sets) {
      const hash = createHash("sha256");
      await writePiecesDurably(join(unfinished, file), hashed(content.pieces(), hash));
      files[file] = { bytes: content.bytes, sha256: hash.digest("hex") };
    }
    const text = JSON.stringify(
      { format: FORMAT, step, state, files } satisfies StateFile,
      null,
      1,
    );
    writeFileDurably(join(unfinished, STATE_FILE), text + "\n");
  });
  removeSuperseded(folder, step, keep);
  return path;
}

const fileOf = (set: string) => `${set}.safetensors`;

async function* hashed(
  pieces: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
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

/** A checkpoint on disk. */
export class StoredCheckpoint<State extends JsonValue = JsonValue> {
  readonly step: number;
  readonly state: State;
  readonly #files: StateFile["files"];

  /**
   * Opens a checkpoint: all its files are there in full length.
   *
   * @throws UserError when it is incomplete
   */
  constructor(readonly path: string) {
    const { step, state, files } = readState(path);
    for (const [name, { bytes }] of Object.entries(files)) {
      const file = join(path, name);
      if (!exists(file)) throw incomplete(path, `${name} is missing`);
      const { size } = Deno.statSync(file);
      if (size !== bytes) throw incomplete(path, `${name} has ${size} bytes instead of ${bytes}`);
    }
    this.step = step;
    this.state = state as State;
    this.#files = files;
  }

  /** Whether it keeps a set of this name. */
  has(set: string): boolean {
    return Object.hasOwn(this.#files, fileOf(set));
  }

  /**
   * Reads a set of tensors once and verifies it on the way: what was received counts only once this has
   * returned.
   *
   * @param open is told which tensors there are before the first piece comes; it may refuse them
   * @throws UserError when the content is not what was written
   */
  async read(
    set: string,
    open: (entries: ReadonlyMap<string, TensorEntry>) => PieceReceiver,
  ): Promise<void> {
    const name = fileOf(set);
    const file = join(this.path, name);
    const changed = () =>
      incomplete(this.path, `the content of ${name} has changed since it was written`);
    const { sha256 } = this.#files[name];
    let found: string;
    try {
      found = await readSet(file, open);
    } catch (error) {
      // Tensors that do not fit, or cannot be read at all, may be the damage's doing.
      if (error instanceof UserError && hashOfFile(file) !== sha256) throw changed();
      throw error;
    }
    if (found !== sha256) throw changed();
  }
}

async function readSet(
  path: string,
  open: (entries: ReadonlyMap<string, TensorEntry>) => PieceReceiver,
): Promise<string> {
  using file = SafetensorsFile.open(path);
  const receive = open(file.entries);
  const hash = createHash("sha256").update(file.head);
  for (const piece of file.pieces(pieceBytes)) {
    hash.update(piece.bytes);
    await receive(piece);
  }
  return hash.digest("hex");
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
