/** Folders as one file: the form in which a tab fetches presets, keeps a run and hands it out. */

import { createTar, parseTar } from "nanotar";
import type { MemoryFiles } from "./memory_files.ts";

/**
 * A folder with all it holds as a tar file.
 *
 * @param isNamed whether the folder itself is in it, by its name
 * @param first a file that comes before the others
 */
export function archiveOf(
  files: MemoryFiles,
  folder: string,
  { isNamed = true, first }: {
    readonly isNamed?: boolean;
    readonly first?: { readonly name: string; readonly text: string };
  } = {},
): Uint8Array<ArrayBuffer> {
  const prefix = isNamed ? `${folder.split("/").at(-1)}/` : "";
  const entries = [...files.filesBelow(folder)]
    .map(({ path, bytes }) => ({ name: prefix + path, data: bytes }));
  const before = first === undefined ? [] : [{ name: first.name, data: first.text }];
  return new Uint8Array(createTar([...before, ...entries], { attrs: { mode: "644", mtime: 0 } }));
}

/** The first file of a tar file, of which the beginning is enough. @throws Error when there is none */
export function firstOf(beginning: Uint8Array): { readonly name: string; readonly text: string } {
  const decoder = new TextDecoder();
  const field = (begin: number, length: number) =>
    decoder.decode(beginning.subarray(begin, begin + length)).replace(/[\0 ]+$/, "");
  const size = parseInt(field(124, 12), 8);
  if (!(size > 0 && 512 + size <= beginning.length)) throw new Error("no file is in the beginning");
  return { name: field(0, 100), text: decoder.decode(beginning.subarray(512, 512 + size)) };
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
