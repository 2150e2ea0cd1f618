/**
 * Checkpoints: `checkpoints/step-000123/` with one safetensors file for each named set of tensors (a
 * policy with its optimizer, say) and `state.json` with everything else that a step depends on. Tensors
 * pass through in pieces: host memory does not grow with them.
 */

import { readDirSync } from "../../platform/system/files.ts";
import { createHash, type Hash } from "../../platform/system/hash.ts";
import { join } from "../../platform/system/paths.ts";
import type { FileContent } from "../../model/weights/file_content.ts";
import {
  exists,
  removeIfPresent,
  writeFileDurably,
  writeFolderAtomically,
  writePiecesDurably,
} from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { JsonValue } from "./json_lines_log.ts";
import { CONTINUE } from "./run_folder.ts";
import {
  type CheckpointFacts,
  encodeState,
  fileOf,
  isComplete,
  STATE_FILE,
} from "./stored_checkpoint.ts";

/** Contents of a checkpoint. */
export interface Checkpoint<State extends JsonValue = JsonValue> {
  /** The global step after which it was taken. */
  readonly step: number;
  /** Sets of tensors by name (letters, digits, `_` and `-`): each becomes one safetensors file. */
  readonly sets: Readonly<Record<string, FileContent>>;
  /**
   * Schedule position, data position, random counters, moving averages… : any JSON value; or what gives it once the
   * sets are written, told the SHA-256 of each by its name.
   */
  readonly state: State | ((sets: Readonly<Record<string, string>>) => State);
}

/** The step of a checkpoint and its folder. */
export interface CheckpointPlace {
  readonly step: number;
  readonly path: string;
}

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
  { step, sets, state }: Checkpoint,
  keep: number,
): Promise<string> {
  const path = join(folder, `step-${String(step).padStart(6, "0")}`);
  const bytes = Object.values(sets).reduce((sum, content) => sum + content.bytes, 0);
  await writeFolderAtomically({ path, bytes, next: CONTINUE }, (unfinished) => {
    return writeSets(unfinished, { step, sets, state });
  });
  removeSuperseded(folder, step, keep);
  return path;
}

/** Writes what a `StoredCheckpoint` reads into a folder that nobody reads yet. */
export async function writeSets(folder: string, { step, sets, state }: Checkpoint): Promise<void> {
  const files: CheckpointFacts["files"] = {};
  const digests: Record<string, string> = {};
  for (const [name, content] of Object.entries(sets)) {
    if (!/^[\w-]+$/.test(name)) throw new Error(`"${name}" cannot be the name of a set`);
    const file = fileOf(name);
    const hash = createHash("sha256");
    await writePiecesDurably(join(folder, file), hashed(content.pieces(), hash));
    digests[name] = hash.digest("hex");
    files[file] = { bytes: content.bytes, sha256: digests[name] };
  }
  const told = typeof state === "function" ? state(digests) : state;
  writeFileDurably(join(folder, STATE_FILE), encodeState({ step, state: told, files }));
}

async function* hashed(
  pieces: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** The checkpoints in a folder, oldest first; half-written ones are not among them. */
export function listCheckpoints(folder: string): CheckpointPlace[] {
  if (!exists(folder)) return [];
  const places: CheckpointPlace[] = [];
  for (const { name, isDirectory } of readDirSync(folder)) {
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

/**
 * The checkpoint of a step.
 *
 * @param step null: the newest whole one
 * @throws UserError that says which there are when there is no such one
 */
export function placeOfCheckpoint(folder: string, step: number | null): CheckpointPlace {
  const places = listCheckpoints(folder);
  const place = step === null
    ? latestCheckpoint(folder)
    : places.find((one) => one.step === step) ?? null;
  if (place !== null) return place;
  const steps = places.map((one) => one.step).join(", ") || "none yet";
  const what = step === null ? "whole checkpoint" : `checkpoint of step ${step}`;
  throw new UserError(`${folder} has no ${what}. There are: ${steps}.`);
}

/** Checkpoints newer than the latest whole one, which a resumed run therefore passes over. */
export function skippedCheckpoints(folder: string): CheckpointPlace[] {
  const latest = latestCheckpoint(folder)?.step ?? -1;
  return listCheckpoints(folder).filter(({ step }) => step > latest);
}

function removeSuperseded(folder: string, step: number, keep: number): void {
  const places = listCheckpoints(folder);
  for (const { path } of places.filter((place) => place.step > step)) removeIfPresent(path);
  const current = places.filter((place) => place.step <= step);
  for (const { path } of current.slice(0, -keep)) removeIfPresent(path);
  for (const { name } of [...readDirSync(folder)]) {
    if (/^step-\d+(\.replaced)?\.tmp$/.test(name)) removeIfPresent(join(folder, name));
  }
}
