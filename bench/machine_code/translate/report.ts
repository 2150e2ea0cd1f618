import { alignedTable } from "../../../src/base/table.ts";
import { UserError } from "../../../src/base/user_error.ts";
import { filtered } from "../filtered.ts";
import { everyText, type KernelText } from "./every_text.ts";
import { findDxc, findSpirvVal, type Judge } from "./judge.ts";
import { type Failures, type Target, targets, translate } from "./naga.ts";

/** What is asked of a translation. */
export interface TranslationOptions {
  /** Only variants whose names hold this. */
  readonly filter: string;
  /** Where texts and translations stay; else they are removed. */
  readonly folder?: string;
  /** Version of naga. */
  readonly naga: string;
  /** Whether Direct3D's compiler compiles the HLSL. */
  readonly dxc?: boolean;
}

/** Translates every text, prints how many went well and what failed; exit code 1 when any did. */
export async function reportTranslation(options: TranslationOptions): Promise<void> {
  const { filter, naga } = options;
  const spirvVal = await findSpirvVal();
  const dxc = options.dxc ? await findDxc() : null;
  if (options.dxc && dxc === null) {
    throw new UserError(
      "There is no dxc on the path, which --dxc asks for: Direct3D's compiler is in the releases of " +
        "DirectXShaderCompiler and in the Vulkan SDK.",
    );
  }
  const all = filtered(await everyText(), ({ name }) => name, filter);
  const texts = all.filter(({ usesMatrices }) => !usesMatrices);
  const folder = options.folder ?? Deno.makeTempDirSync({ prefix: "tango-translate-" });
  Deno.mkdirSync(folder, { recursive: true });
  try {
    console.log(`naga ${naga} · ${texts.length} kernel variants\n`);
    const translated = await translateAll(folder, texts);
    console.log(alignedTable([
      ["language", "translated", "failed"],
      ...Object.entries(targets).map(([target, language]) => {
        const failed = translated.filter(({ failures }) => target in failures).length;
        return [language, `${texts.length - failed}`, `${failed}`];
      }),
    ]));
    const isRight = [
      await judge(translated, "spv", "spirv-val", spirvVal),
      await judge(translated, "hlsl", "dxc", dxc),
    ].every((right) => right);
    const most = Math.max(0, ...texts.map(({ storageBuffers }) => storageBuffers));
    console.log(`Storage buffers of a kernel: ${most} at most.`);
    const mads = translated.filter(({ path, failures }) =>
      !("hlsl" in failures) && /\bmad\(/.test(Deno.readTextFileSync(`${path}.hlsl`))
    ).length;
    console.log(`HLSL has mad, which need not be fused, for fma: in ${mads} variants.`);
    const left = all.length - texts.length;
    console.log(`Left out, of matrix units, which naga does not read as Dawn does: ${left}.`);
    for (const { text, failures } of translated) {
      for (const [target, message] of Object.entries(failures)) {
        console.error(`\n${text.name}, ${targets[target as Target]}:\n${message}`);
      }
    }
    if (spirvVal === null) {
      console.log("spirv-val is not on the path: the SPIR-V is validated by naga alone.");
    }
    const isWhole = translated.every(({ failures }) =>
      Object.keys(failures).length === 0
    );
    if (!isWhole || !isRight) Deno.exitCode = 1;
  } finally {
    if (options.folder === undefined) Deno.removeSync(folder, { recursive: true });
  }
}

interface Translated {
  readonly text: KernelText;
  readonly path: string;
  readonly failures: Failures;
}

async function translateAll(folder: string, texts: readonly KernelText[]): Promise<Translated[]> {
  const translated: Translated[] = [];
  for (const [n, text] of texts.entries()) {
    // Two variants of a name differ in parts of their texts.
    const path = `${folder}/${text.name.replace(/[^\w.=-]+/g, "_")}.${n + 1}`;
    translated.push({ text, path, failures: await translate(path, text.code) });
  }
  return translated;
}

/** Has a program judge what was written in a language, if it is there, and says what it refuses. */
async function judge(
  translated: readonly Translated[],
  target: Target,
  name: string,
  refusal: Judge | null,
): Promise<boolean> {
  if (refusal === null) return true;
  const written = translated.filter(({ failures }) => !(target in failures));
  let refused = 0;
  for (const { text, path } of written) {
    const message = await refusal(`${path}.${target}`);
    if (message === null) continue;
    refused++;
    console.error(`${text.name}, ${name}:\n${message}\n`);
  }
  console.log(`${name} takes ${written.length - refused} of ${written.length}.`);
  return refused === 0;
}
