import { openSync, readTextFileSync, statSync } from "../../platform/system/files.ts";
import { createHash } from "../../platform/system/hash.ts";
import { join } from "../../platform/system/paths.ts";
import { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { pieceBytes } from "../../gpu/tensor_pieces.ts";
import {
  type PieceReceiver,
  SafetensorsFile,
  type TensorEntry,
} from "../../model/weights/safetensors.ts";
import type { JsonValue } from "./json_lines_log.ts";

/** The format that is written and read. */
const FORMAT = 1;
export const STATE_FILE = "state.json";

/** A number of steps, bytes and the like. */
export const countSchema = z.int().nonnegative();

const stateFileSchema = z.object({
  format: z.literal(FORMAT).optional(),
  step: countSchema,
  state: z.custom<JsonValue>((value) => value !== undefined),
  files: z.record(z.string(), z.object({ bytes: countSchema, sha256: z.string() })),
  /** Hash of all the rest; absent in checkpoints of earlier versions. */
  sha256: z.string().optional(),
});

/** Contents of state.json, but for its own hash. */
export type CheckpointFacts = Pick<z.output<typeof stateFileSchema>, "step" | "state" | "files">;

/** The text of state.json. */
export function encodeState({ step, state, files }: CheckpointFacts): string {
  const facts = { format: FORMAT, step, state, files };
  return `${JSON.stringify({ ...facts, sha256: hashOf(facts) }, null, 1)}\n`;
}

const hashOf = (facts: object) => createHash("sha256").update(JSON.stringify(facts)).digest("hex");

/** The file of a set of tensors. */
export const fileOf = (set: string) => `${set}.safetensors`;
const setOf = (file: string) => file.replace(/\.safetensors$/, "");

/** A checkpoint on disk. */
export class StoredCheckpoint {
  readonly step: number;
  readonly #state: JsonValue;
  readonly #files: CheckpointFacts["files"];

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
      const { size } = statSync(file);
      if (size !== bytes) throw incomplete(path, `${name} has ${size} bytes instead of ${bytes}`);
    }
    this.step = step;
    this.#state = state;
    this.#files = files;
  }

  /**
   * Everything but the tensors.
   *
   * @throws UserError when it is not what the schema expects
   */
  state<State>(schema: z.ZodType<State>): State {
    const { data, error } = schema.safeParse(this.#state);
    if (error) throw incomplete(this.path, `${STATE_FILE} is not a state of such a run`, error);
    return data;
  }

  /** SHA-256 of each set's file by the set's name, as they were written. */
  get digests(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(this.#files).map(([file, { sha256 }]) => [setOf(file), sha256]),
    );
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

/** @param unfit what a schema found wrong */
function incomplete(path: string, what: string, unfit?: z.ZodError): UserError {
  const [issue] = unfit?.issues ?? [];
  const where = issue ? ` (${issue.path.join(".") || "the whole"}: ${issue.message})` : "";
  return new UserError(
    `The checkpoint ${path} cannot be used: ${what}${where}. Remove that folder to resume from the one ` +
      `before.`,
  );
}

function readState(path: string): CheckpointFacts {
  const file = join(path, STATE_FILE);
  if (!exists(file)) throw incomplete(path, `${STATE_FILE} is missing`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readTextFileSync(file));
  } catch (error) {
    throw incomplete(path, `${STATE_FILE} is not JSON (${(error as Error).message})`);
  }
  const { format = FORMAT } = z.object({ format: z.unknown() }).safeParse(parsed).data ?? {};
  if (format !== FORMAT) {
    throw incomplete(path, `it has format ${format}; this program reads format ${FORMAT}`);
  }
  const { data, error } = stateFileSchema.safeParse(parsed);
  if (error) throw incomplete(path, `${STATE_FILE} is damaged`, error);
  const { step, state, files } = parsed as CheckpointFacts;
  if (data.sha256 !== undefined && data.sha256 !== hashOf({ format: FORMAT, step, state, files })) {
    throw incomplete(path, `the content of ${STATE_FILE} has changed since it was written`);
  }
  return data;
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
  using file = openSync(path, { read: true });
  const buffer = new Uint8Array(1 << 20);
  for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
    hash.update(buffer.subarray(0, read));
  }
  return hash.digest("hex");
}
