/** Room on the disk, and what the system says against writing. */

import { fileErrors, statfsSync } from "../system/files.ts";
import { system } from "../system/machine.ts";
import { dirname, resolve } from "../system/paths.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { UserError } from "../../base/user_error.ts";

/** A file being written, for the message when the disk does not take it. */
export interface Writing {
  /** The file or folder that is to appear. */
  readonly path: string;
  /** How many bytes it takes; absent where that is not known. */
  readonly bytes?: number;
  /** Advice for when the cause is mended, such as `continue the run with --resume`. */
  readonly next: string;
}

/** Bytes that may still be written where `path` is or would be; null where the file system does not say. */
export function freeBytes(path: string): number | null {
  for (let place = resolve(path);; place = dirname(place)) {
    try {
      const { blocks, bavail, bsize } = statfsSync(place);
      return blocks > 0 ? bavail * bsize : null;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (place === dirname(place) || (code !== "ENOENT" && code !== "ENOTDIR")) throw error;
    }
  }
}

/**
 * Checks before the first byte is written that there is room for all.
 *
 * @throws UserError when there is not
 */
export function checkRoom({ path, bytes = 0, next }: Writing): void {
  const free = freeBytes(path);
  if (free === null || bytes <= free) return;
  throw new UserError(
    `${path}: there is no room on the disk${missing(bytes, free)}. Make room and ${next}.`,
  );
}

/** A system's refusal to write as a message to the user; other errors as they are. */
export function describeDiskError(error: unknown, { path, bytes, next }: Writing): unknown {
  if (!(error instanceof Error)) return error;
  switch (refusalOf(error)) {
    case "full": {
      const free = freeBytes(path);
      const known = bytes !== undefined && free !== null && bytes > free;
      return new UserError(
        `${path}: the disk is full${known ? missing(bytes, free) : ""}. Make room and ${next}.`,
      );
    }
    case "quota":
      return new UserError(
        `${path}: your quota on that disk is used up${takes(bytes)}. Make room and ${next}.`,
      );
    case "too large":
      return new UserError(
        `${path}: the file would be larger than that disk or a limit (ulimit -f) allows` +
          `${takes(bytes)}. Choose another disk or lift the limit, and ${next}.`,
      );
    case "forbidden":
      return new UserError(
        `${path} cannot be written: ${error.message}. Make that possible and ${next}.`,
      );
    default:
      return error;
  }
}

const missing = (bytes: number, free: number) =>
  `: ${formatBytes(bytes)} are to be written and ${formatBytes(free)} are free, ${
    formatBytes(bytes - free)
  } are missing`;

const takes = (bytes: number | undefined) =>
  bytes === undefined ? "" : ` (${formatBytes(bytes)} are to be written)`;

type Refusal = "full" | "quota" | "too large" | "forbidden";

/** Deno gives a code for some of them and names all others by the system's number alone. */
const numbers: Readonly<Partial<Record<number, Refusal>>> = {
  27: "too large",
  28: "full",
  30: "forbidden",
  ...(system === "windows"
    ? { 39: "full", 112: "full", 223: "too large", 1295: "quota" }
    : { [system === "darwin" ? 69 : 122]: "quota" }),
};

/** What node's functions call them. */
const codes: Readonly<Record<string, Refusal>> = {
  ENOSPC: "full",
  EDQUOT: "quota",
  EFBIG: "too large",
  EROFS: "forbidden",
  EACCES: "forbidden",
  EPERM: "forbidden",
  EISDIR: "forbidden",
  ENOTDIR: "forbidden",
};

function refusalOf(error: Error): Refusal | null {
  const { PermissionDenied, NotADirectory, AlreadyExists, IsADirectory } = fileErrors;
  const kinds = [PermissionDenied, NotADirectory, AlreadyExists, IsADirectory];
  if (kinds.some((kind) => error instanceof kind)) return "forbidden";
  const number = Number(/\(os error (\d+)\)/.exec(error.message)?.[1]);
  return numbers[number] ?? codes[`${Reflect.get(error, "code")}`] ?? null;
}
