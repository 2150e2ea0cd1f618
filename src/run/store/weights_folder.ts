import { join } from "node:path";
import { type LoadedModel, modelFiles } from "../../model/weights/model_folder.ts";
import { writeFileDurably, writeFolderAtomically } from "../../base/atomic_file.ts";

/** Writes a model with its tokenizer to a folder that `transformers` opens; replaces what is there. */
export async function writeModelFolder(folder: string, model: LoadedModel): Promise<void> {
  writeFiles(folder, await modelFiles(model));
}

/** Writes files to a folder all together or not at all; replaces what is there. */
export function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>[]>>,
): void {
  writeFolderAtomically(folder, (unfinished) => {
    for (const [file, content] of Object.entries(files)) {
      writeFileDurably(join(unfinished, file), content);
    }
  });
}
