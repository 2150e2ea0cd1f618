import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { UserError } from "../../base/user_error.ts";
import { type DataFile, readError } from "./data_paths.ts";

/**
 * The text of a file in pieces, decompressed and without a byte order mark. Throws a UserError when the
 * file cannot be read, is a damaged gzip file, or is not UTF-8.
 */
export async function* readText(file: DataFile): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new UserError(
        `${file.path}: found bytes that are not UTF-8 text; expected UTF-8. Convert the file, for ` +
          "example with iconv -f latin1 -t utf-8.",
      );
    }
  };
  for await (const bytes of readBytes(file)) yield decode(bytes);
  const rest = decode();
  if (rest !== "") yield rest;
}

/** The whole text of a file. Throws as `readText` does, and when it is longer than a string can be. */
export async function readWholeText(file: DataFile): Promise<string> {
  const parts: string[] = [];
  for await (const part of readText(file)) parts.push(part);
  try {
    return parts.join("");
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UserError(
      `${file.path}: the file is too large to be read as one JSON value. Convert it to JSON Lines ` +
        "(.jsonl, one object per line), which is read piece by piece.",
    );
  }
}

async function* readBytes(file: DataFile): AsyncGenerator<Uint8Array> {
  // Not DecompressionStream: it refuses files of several gzip members, as parallel compressors write.
  const bytes = createReadStream(file.path, { highWaterMark: 1 << 20 });
  const stream = file.isCompressed ? pipeline(bytes, createGunzip(), () => {}) : bytes;
  try {
    for await (const chunk of stream) yield chunk;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!file.isCompressed || !code.startsWith("Z_")) throw readError(file.path, error);
    throw new UserError(
      `${file.path}: not a whole gzip file: ${
        (error as Error).message
      }. Download or compress it again.`,
    );
  } finally {
    bytes.destroy();
  }
}
