import { createHash } from "node:crypto";
import { join } from "node:path";
import { exists } from "../../base/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { pieceBytes } from "../../gpu/tensor_pieces.ts";
import {
  type PieceReceiver,
  SafetensorsFile,
  type TensorEntry,
} from "../../model/weights/safetensors.ts";
import type { JsonValue } from "./json_lines_log.ts";

/** What state.json says. */
export interface StateFile {
  format: number;
  step: number;
  state: JsonValue;
  files: Record<string, { bytes: number; sha256: string }>;
}

/** The format that is written and read. */
export const FORMAT = 1;
export const STATE_FILE = "state.json";

/** The file of a set of tensors. */
export const fileOf = (set: string) => `${set}.safetensors`;

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
  if (typeof step !== "number" || state === undefined || typeof files !== "object" || !files) {
    throw incomplete(path, `${STATE_FILE} lacks step, state or files`);
  }
  return { format: FORMAT, step, state, files };
}

/** Whether a checkpoint's files are all there in full length. */
export function isComplete(path: string): boolean {
  try {
    new StoredCheckpoint(path);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

function hashOfFile(path: string): string {
  const hash = createHash("sha256");
  using file = Deno.openSync(path, { read: true });
  const buffer = new Uint8Array(1 << 20);
  for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
    hash.update(buffer.subarray(0, read));
  }
  return hash.digest("hex");
}
