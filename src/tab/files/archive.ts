/** Folders as one file: the form in which a tab fetches presets, keeps a run and hands it out. */

import { createTar, parseTar } from "nanotar";
import type { MemoryFiles } from "./memory_files.ts";

/**
 * A folder with all it holds as a tar file.
 *
 * @param isNamed whether the folder itself is in it, by its name
 */
export function archiveOf(
  files: MemoryFiles,
  folder: string,
  { isNamed = true } = {},
): Uint8Array<ArrayBuffer> {
  const prefix = isNamed ? `${folder.split("/").at(-1)}/` : "";
  const entries = [...files.filesBelow(folder)]
    .map(({ path, bytes }) => ({ name: prefix + path, data: bytes }));
  return new Uint8Array(createTar(entries, { attrs: { mode: "644", mtime: 0 } }));
}

/** Puts the files of a tar file below a folder. @throws Error when it is not whole */
export function unpack(files: MemoryFiles, into: string, tar: Uint8Array): void {
  for (const { name, type, data } of parseTar(tar)) {
    if (type !== "file" || data === undefined) continue;
    const path = `${into}/${name}`;
    files.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    files.writeFileSync(path, data);
  }
}
