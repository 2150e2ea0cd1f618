/** An append-only file of one JSON object per line, each with the global step it belongs to. */

import {
  type OpenFile,
  openSync,
  readFileSync,
  readTextFileSync,
  statSync,
  truncateSync,
} from "../../platform/system/files.ts";
import { UserError } from "../../base/user_error.ts";
import { exists, writeAll, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import { CONTINUE } from "./run_folder.ts";

/** A line with the global step that wrote it. */
export interface StepLine {
  readonly step: number;
}

/** A value that JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON Lines file that a run appends to and a resumed run continues byte for byte. */
export class JsonLinesLog<Line extends StepLine> implements Disposable {
  private readonly file: OpenFile;
  /** Damage to the lines of a resumed log that were to be kept, in words; null when all are there. */
  readonly damage: string | null = null;

  /**
   * Opens the log for appending and creates it when there is none.
   *
   * @param lastStep when resuming, the checkpoint's step: later lines, and a last line cut short by a
   *   crash, are removed. Everything that belongs to a step must therefore be logged before that step's
   *   checkpoint is written. Damaged lines before it are set aside. Without it the log must be empty or absent.
   * @param hasEveryStep whether each training step leaves a line, so that lost ones show
   * @throws UserError when a new log would continue an old one, or the file cannot be written
   */
  constructor(readonly path: string, lastStep?: number, hasEveryStep = false) {
    if (exists(path)) {
      if (lastStep === undefined) {
        if (statSync(path).size > 0) {
          throw new UserError(
            `${path} already holds a log; resume that run or choose another folder.`,
          );
        }
      } else {
        const { bytes, damaged, whole } = readUpToStep(path, lastStep);
        this.#write(() => truncateSync(path, bytes));
        if (damaged.length > 0) this.#write(() => setAside(path, damaged, whole));
        const lost = hasEveryStep ? missingSteps(whole, lastStep) : [];
        this.damage = describeDamage(path, damaged, lost);
      }
    } else if (hasEveryStep && lastStep !== undefined) {
      this.damage = describeDamage(path, [], missingSteps([], lastStep));
    }
    this.file = this.#write(() => openSync(path, { append: true, create: true }));
  }

  /** @throws UserError when the disk does not take it; a line may then be there in part, as after a crash */
  #write<Result>(body: () => Result): Result {
    try {
      return body();
    } catch (error) {
      throw describeDiskError(error, { path: this.path, next: CONTINUE });
    }
  }

  /**
   * Appends one line.
   *
   * @throws UserError when the disk does not take it
   * @throws Error when a number in it is NaN or infinite: JSON would silently turn it into null
   */
  append(line: Line): void {
    requireFinite(line, `step ${line.step}`, this.path);
    const bytes = new TextEncoder().encode(JSON.stringify(line) + "\n");
    this.#write(() => writeAll(this.file, bytes));
  }

  /**
   * Waits until all lines are on the disk; call it before a checkpoint that counts on them.
   *
   * @throws UserError when the disk does not take them
   */
  sync(): void {
    this.#write(() => this.file.syncSync());
  }

  /** Closes the file. */
  close(): void {
    this.file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Reads a log; a last line without its line end (cut short by a crash) is left out.
 *
 * @throws UserError when a whole line is not a JSON object with a step
 */
export function readJsonLines<Line extends StepLine>(path: string): Line[] {
  return [...wholeLines(readFileSync(path))].map(({ text }, index) =>
    parseLine(text, index + 1, path) as Line
  );
}

/** A line of a log: its number in the file, from 1. */
interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** A whole line, and what of it tells which step it belongs to. */
interface WholeLine extends NumberedLine {
  readonly line: StepLine & { readonly phase?: unknown };
}

/** The lines up to a step, and the bytes up to their end. */
function readUpToStep(path: string, lastStep: number): {
  readonly bytes: number;
  readonly damaged: readonly NumberedLine[];
  readonly whole: readonly WholeLine[];
} {
  const content = readFileSync(path);
  const damaged: NumberedLine[] = [], whole: WholeLine[] = [];
  let number = 0;
  for (const { text, begin } of wholeLines(content)) {
    const line = tryLine(text);
    if (line && line.step > lastStep) return { bytes: begin, damaged, whole };
    if (line) whole.push({ number: ++number, text, line });
    else damaged.push({ number: ++number, text });
  }
  return { bytes: content.lastIndexOf(0x0a) + 1, damaged, whole };
}

/** Where the damaged lines of a log are kept. */
const asideOf = (path: string) => `${path}.damaged`;

/** Leaves a log its whole lines, once the others are kept beside it. */
function setAside(
  path: string,
  damaged: readonly NumberedLine[],
  whole: readonly NumberedLine[],
): void {
  const linesOf = (lines: readonly NumberedLine[]) => lines.map(({ text }) => `${text}\n`).join("");
  const aside = asideOf(path);
  const before = exists(aside) ? readTextFileSync(aside) : "";
  writeFileAtomically(aside, before + linesOf(damaged), CONTINUE);
  writeFileAtomically(path, linesOf(whole), CONTINUE);
}

/** The training steps up to the last one that have left no line. */
function missingSteps(whole: readonly WholeLine[], lastStep: number): number[] {
  const known = new Set(
    whole.filter(({ line }) => line.phase !== "evaluation").map(({ line }) => line.step),
  );
  return Array.from({ length: Math.max(0, lastStep) }, (_, i) => i + 1)
    .filter((step) => !known.has(step));
}

function describeDamage(
  path: string,
  damaged: readonly NumberedLine[],
  lost: readonly number[],
): string | null {
  const numbers = damaged.map(({ number }) => number);
  const words = [
    ...(numbers.length === 0 ? [] : [
      `${numbers.length} damaged ${numbers.length === 1 ? "line" : "lines"} (${ranges(numbers)}) ${
        numbers.length === 1 ? "was" : "were"
      } set aside in ${asideOf(path)}`,
    ]),
    ...(lost.length === 0 ? [] : [
      `nothing is left of ${lost.length} ${lost.length === 1 ? "step" : "steps"} (${ranges(lost)})`,
    ]),
  ];
  if (words.length === 0) return null;
  return `${path}: ${words.join("; ")}. The run goes on; what is drawn from this file lacks them.`;
}

/** Ascending numbers in a few words: `3–5, 9`. */
function ranges(numbers: readonly number[]): string {
  const begins = numbers.filter((number, i) => i === 0 || number !== numbers[i - 1] + 1);
  const ends = numbers.filter((number, i) => number + 1 !== numbers[i + 1]);
  return begins.map((begin, i) => begin === ends[i] ? `${begin}` : `${begin}–${ends[i]}`).join(
    ", ",
  );
}

function* wholeLines(bytes: Uint8Array): Generator<{ text: string; begin: number }> {
  const decoder = new TextDecoder();
  let begin = 0;
  while (true) {
    const end = bytes.indexOf(0x0a, begin);
    if (end < 0) return;
    yield { text: decoder.decode(bytes.subarray(begin, end)), begin };
    begin = end + 1;
  }
}

/** Returns null for what is not a JSON object with a step. */
function tryLine(text: string): StepLine | null {
  try {
    const line = JSON.parse(text);
    return typeof line?.step === "number" ? line : null;
  } catch {
    return null;
  }
}

function parseLine(text: string, number: number, path: string): StepLine {
  const line = tryLine(text);
  if (line) return line;
  throw new UserError(
    `${path}:${number} is damaged: a JSON object with a "step" was expected, found ` +
      `${JSON.stringify(text.slice(0, 60))}. Remove the damaged lines and those after them.`,
  );
}

function requireFinite(value: unknown, where: string, path: string): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Error(`${path}: ${where} is ${value}; only finite numbers can be logged`);
  }
  if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) requireFinite(item, `${where}, ${key}`, path);
  }
}
