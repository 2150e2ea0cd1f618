/** A program that judges a file: what it says of one that it refuses, null of one that it takes. */
export type Judge = (file: string) => Promise<string | null>;

/**
 * A judge; null where the program is not on the path.
 *
 * @param argumentsFor what it is called with to judge a file
 */
export async function findJudge(
  program: string,
  argumentsFor: (file: string) => readonly string[],
): Promise<Judge | null> {
  const run = (args: readonly string[]) =>
    new Deno.Command(program, { args: [...args], stdin: "null", stdout: "piped" }).output();
  try {
    await run(["--version"]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  return async (file) => {
    const { code, stdout, stderr } = await run(argumentsFor(file));
    if (code === 0) return null;
    return [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes).trim()).join("\n");
  };
}

/** The validator of SPIR-V. */
export const findSpirvVal = () =>
  findJudge("spirv-val", (file) => ["--target-env", "vulkan1.1", file]);

/** Direct3D's compiler, with what half precision takes, and naga's way of writing structures. */
export const findDxc = () =>
  findJudge("dxc", (file) => {
    const language = ["-T", "cs_6_2", "-E", "main", "-HV", "2018", "-enable-16bit-types"];
    return [...language, file, "-Fo", `${file}.dxil`];
  });
