import { statSync } from "node:fs";

/**
 * Tells what is at a path apart from what was there before or comes after, without reading it: another file, or one
 * that was written since. Null when nothing can be seen there; who opens it learns why.
 */
export function fileMark(path: string): string | null {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return null;
  }
}
