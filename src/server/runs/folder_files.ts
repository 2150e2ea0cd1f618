/** Files of a folder that may be handed out, and no others. */

import { join } from "node:path";

/** A file in a folder. */
export interface FolderFile {
  /** From the folder on. */
  readonly path: string;
  readonly bytes: number;
}

/** All files of a folder and of those in it; what links point to is left out. */
export function filesIn(folder: string, inside = ""): FolderFile[] {
  return [...Deno.readDirSync(join(folder, inside))].flatMap(({ name, isDirectory, isFile }) => {
    const path = inside === "" ? name : `${inside}/${name}`;
    if (isDirectory) return filesIn(folder, path);
    return isFile ? [{ path, bytes: Deno.statSync(join(folder, path)).size }] : [];
  }).sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * A file of a folder by its path; only paths that `filesIn` lists lead anywhere.
 *
 * @returns where it is; null when there is none
 */
export function fileInside(folder: string, path: string): FolderFile | null {
  const found = filesIn(folder).find((file) => file.path === path);
  return found ? { ...found, path: join(folder, found.path) } : null;
}
