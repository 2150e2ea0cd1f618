import { join } from "../../platform/system/paths.ts";
import type { Placed } from "../../distributed/placed.ts";
import { type ModelFiles, modelFiles } from "../../model/weights/model_files.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import {
  writeFileDurably,
  writeFolderAtomically,
  writePiecesDurably,
} from "../../platform/files/atomic_file.ts";
import { CONTINUE } from "./run_folder.ts";
import { sharedFiles, writtenByFirst } from "./shared_files.ts";

/**
 * Writes a model with its tokenizer to a folder that `transformers` opens; replaces what is there. All ranks
 * call it.
 *
 * @param others texts of further files, which say where the model comes from
 * @throws UserError when the disk does not take it; what was there before then stays
 */
export async function writeModelFolder(
  folder: string,
  model: Placed<LoadedModel>,
  others: Readonly<Record<string, string>> = {},
): Promise<void> {
  const files = await sharedFiles(model, modelFiles);
  const all = { ...files, ...others };
  await writtenByFirst(model.all, [files], () => writeFiles(folder, all, CONTINUE));
}

/**
 * Writes files to a folder all together or not at all; replaces what is there.
 *
 * @param next what to do when the disk did not take them; see `Writing`
 * @throws UserError when the disk does not take them; what was there before then stays
 */
export async function writeFiles(folder: string, files: ModelFiles, next: string): Promise<void> {
  const bytes = Object.values(files)
    .reduce(
      (sum, content) => sum + (typeof content === "string" ? content.length : content.bytes),
      0,
    );
  await writeFolderAtomically({ path: folder, bytes, next }, (unfinished) => {
    return writeContents(unfinished, files);
  });
}

/** Writes files into a folder that nobody reads yet. */
export async function writeContents(folder: string, files: ModelFiles): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, file);
    if (typeof content === "string") writeFileDurably(path, content);
    else await writePiecesDurably(path, content.pieces());
  }
}
