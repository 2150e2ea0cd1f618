/** Languages that naga writes, by what their files' names end in. */
export const targets = { spv: "SPIR-V", metal: "MSL", hlsl: "HLSL" } as const;
export type Target = keyof typeof targets;

/** What failed of a text, with naga's message; nothing when all went well. */
export type Failures = Partial<Readonly<Record<Target, string>>>;

/** What shuffles between lanes and 64-bit integers take. */
const versions = ["--spirv-version", "1.3", "--metal-version", "2.4", "--shader-model", "60"];

/**
 * Validates a WGSL text and translates it into every language.
 *
 * @param path of the files without what their names end in; the text becomes one of them
 * @param code without `enable subgroups`, which naga does not read though it has them
 */
export async function translate(path: string, code: string): Promise<Failures> {
  Deno.writeTextFileSync(`${path}.wgsl`, code);
  const all = Object.keys(targets) as Target[];
  if (await failure(path, all) === null) return {};
  const failures: Partial<Record<Target, string>> = {};
  for (const target of all) {
    const message = await failure(path, [target]);
    if (message !== null) failures[target] = message;
  }
  return failures;
}

async function failure(path: string, into: readonly Target[]): Promise<string | null> {
  const { code, stderr } = await new Deno.Command("naga", {
    args: [...versions, `${path}.wgsl`, ...into.map((target) => `${path}.${target}`)],
    stdin: "null",
    stdout: "null",
  }).output();
  return code === 0 ? null : new TextDecoder().decode(stderr).trim();
}
