import { exactStatSync, readDirSync, statSync } from "../system/files.ts";
import { join } from "../system/paths.ts";

/**
 * Tells what is at a path apart from what was there before or comes after, without reading it: another file, or one
 * that was written since. Null when nothing can be seen there; who opens it learns why.
 */
export function fileMark(path: string): string | null {
  try {
    const { ino, size, mtimeNs, ctimeNs } = exactStatSync(path, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return null;
  }
}

/** The mark of a file, or of all files of a folder, but not of folders in it. */
export function filesMark(path: string): string | null {
  try {
    if (!statSync(path).isDirectory) return fileMark(path);
    const names = [...readDirSync(path)].filter(({ isFile }) => isFile);
    return names.map(({ name }) => `${name} ${fileMark(join(path, name))}`).sort().join("\n");
  } catch {
    return null;
  }
}
