/** The header of a safetensors file: parsing with full validation, and writing. */

import { UserError } from "../../base/user_error.ts";
import { BYTES_PER_ELEMENT, type SafetensorsType } from "./number_formats.ts";

/** Place of a tensor in the data that follows the header. */
export interface TensorEntry {
  readonly dtype: SafetensorsType;
  /** Dimensions, outermost first; [] is a scalar. */
  readonly shape: readonly number[];
  /** First byte, counted from the end of the header. */
  readonly begin: number;
  /** End, exclusive. */
  readonly end: number;
}

/** A parsed header: entries in the file's byte order, and the free-form metadata. */
export interface SafetensorsHeader {
  readonly entries: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The format's own bound on the header, in bytes; anything larger is damage or an attack. */
const MAXIMUM_HEADER_BYTES = 100_000_000;

const LENGTH_BYTES = 8;

/** The error for a file that is not a sound safetensors file. */
export function damaged(file: string, what: string): UserError {
  return new UserError(
    `${file} is not a sound safetensors file: ${what}. Copy or download the file again.`,
  );
}

/**
 * Reads the header's length from the first 8 bytes of a file.
 *
 * @param prefix the file's first bytes (at least 8, unless the file is shorter)
 * @param fileBytes size of the whole file
 * @throws UserError when the length cannot be right
 */
export function readHeaderLength(prefix: Uint8Array, fileBytes: number, file: string): number {
  if (prefix.length < LENGTH_BYTES || fileBytes < LENGTH_BYTES) {
    throw damaged(
      file,
      `it has ${fileBytes} bytes, fewer than the 8 that give the header's length`,
    );
  }
  const view = new DataView(prefix.buffer, prefix.byteOffset, LENGTH_BYTES);
  const length = view.getBigUint64(0, true);
  if (length > BigInt(MAXIMUM_HEADER_BYTES)) {
    throw damaged(
      file,
      `it announces a header of ${length} bytes, more than the ${MAXIMUM_HEADER_BYTES} allowed`,
    );
  }
  if (LENGTH_BYTES + Number(length) > fileBytes) {
    throw damaged(
      file,
      `it announces a header of ${length} bytes but has only ${
        fileBytes - LENGTH_BYTES
      } after the ` +
        `first 8 (was the copy cut short?)`,
    );
  }
  return Number(length);
}

/**
 * Parses and checks a header: every dtype known, every shape × dtype as long as its byte range, every
 * range inside the data, and the ranges covering the data once, without gaps or overlaps.
 *
 * @param bytes the header's JSON text
 * @param dataBytes size of the data after the header
 * @throws UserError naming the file, the tensor and what is wrong
 */
export function parseHeader(bytes: Uint8Array, dataBytes: number, file: string): SafetensorsHeader {
  const text = decodeText(bytes, file);
  const json = parseJson(text, file);
  rejectDuplicateNames(text, file);
  let metadata: Record<string, string> = {};
  const entries: [string, TensorEntry][] = [];
  for (const [name, value] of Object.entries(json)) {
    if (name === "__metadata__") metadata = checkMetadata(value, file);
    else entries.push([name, checkEntry(name, value, dataBytes, file)]);
  }
  entries.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  checkCoverage(entries, dataBytes, file);
  return { entries: new Map(entries), metadata };
}

/** Serialises a header, padded with spaces so that the data after it is aligned to 8 bytes. */
export function encodeHeader(header: SafetensorsHeader): Uint8Array<ArrayBuffer> {
  const json: Record<string, unknown> = {};
  if (Object.keys(header.metadata).length > 0) json.__metadata__ = header.metadata;
  for (const [name, { dtype, shape, begin, end }] of header.entries) {
    json[name] = { dtype, shape, data_offsets: [begin, end] };
  }
  const text = new TextEncoder().encode(JSON.stringify(json));
  const padded = Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES;
  const bytes = new Uint8Array(LENGTH_BYTES + padded).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(text, LENGTH_BYTES);
  return bytes;
}

function decodeText(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw damaged(file, "its header is not UTF-8 text");
  }
}

function parseJson(text: string, file: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw damaged(file, `its header is not JSON (${(error as Error).message})`);
  }
  if (!isRecord(json)) throw damaged(file, "its header is not a JSON object");
  return json;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `JSON.parse` keeps the last of two equal keys without a word, so the outer keys are read again. */
function rejectDuplicateNames(text: string, file: string): void {
  const seen = new Set<string>();
  let depth = 0;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    const token = match[0];
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && match[1] !== undefined) {
      const name: string = JSON.parse(token.slice(0, token.length - match[1].length));
      if (seen.has(name)) throw damaged(file, `the name "${name}" appears twice`);
      seen.add(name);
    }
  }
}

function checkMetadata(value: unknown, file: string): Record<string, string> {
  if (!isRecord(value) || Object.values(value).some((item) => typeof item !== "string")) {
    throw damaged(file, "its __metadata__ is not a table of strings");
  }
  return value as Record<string, string>;
}

function checkEntry(name: string, value: unknown, dataBytes: number, file: string): TensorEntry {
  const fail = (what: string) => damaged(file, `tensor "${name}" ${what}`);
  if (!isRecord(value)) throw fail("has no description");
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== "string" || !Object.hasOwn(BYTES_PER_ELEMENT, dtype)) {
    const known = Object.keys(BYTES_PER_ELEMENT).join(", ");
    throw new UserError(
      `${file}: tensor "${name}" has dtype ${JSON.stringify(dtype)}; readable are ${known}. ` +
        `Convert the file to one of these.`,
    );
  }
  if (!isCountArray(shape)) throw fail(`has the impossible shape ${JSON.stringify(shape)}`);
  if (!isCountArray(offsets) || offsets.length !== 2 || offsets[0] > offsets[1]) {
    throw fail(`has the impossible data_offsets ${JSON.stringify(offsets)}`);
  }
  const [begin, end] = offsets;
  if (end > dataBytes) {
    throw fail(
      `ends at byte ${end} of the data, which has only ${dataBytes} bytes (was the copy cut short?)`,
    );
  }
  const expected = shape.reduce((product, size) => product * size, 1) *
    BYTES_PER_ELEMENT[dtype as SafetensorsType];
  if (expected !== end - begin) {
    throw fail(
      `of shape [${shape.join(", ")}] and dtype ${dtype} needs ${expected} bytes but is given ` +
        `${end - begin}`,
    );
  }
  return { dtype: dtype as SafetensorsType, shape, begin, end };
}

function isCountArray(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function checkCoverage(
  entries: readonly [string, TensorEntry][],
  dataBytes: number,
  file: string,
): void {
  let position = 0;
  let previous = "";
  for (const [name, { begin, end }] of entries) {
    if (begin < position) throw damaged(file, `tensors "${previous}" and "${name}" overlap`);
    if (begin > position) {
      throw damaged(file, `the ${begin - position} bytes before tensor "${name}" belong to none`);
    }
    position = end;
    previous = name;
  }
  if (position !== dataBytes) {
    throw damaged(file, `the last ${dataBytes - position} bytes belong to no tensor`);
  }
}
