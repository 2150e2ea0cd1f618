import { UserError } from "../../../src/base/user_error.ts";

/** What half precision takes, and naga's way of writing structures. */
const language = ["-T", "cs_6_2", "-E", "main", "-HV", "2018", "-enable-16bit-types"];

/** Direct3D's compiler: what it says of a file of HLSL that it refuses, null of one that it takes. */
export type Dxc = (file: string) => Promise<string | null>;

/**
 * Direct3D's compiler.
 *
 * @throws UserError where it is not on the path
 */
export async function findDxc(): Promise<Dxc> {
  const run = (...args: string[]) =>
    new Deno.Command("dxc", { args, stdin: "null", stdout: "piped" }).output();
  try {
    await run("--version");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UserError(
      "There is no dxc on the path, which --dxc asks for: Direct3D's compiler is in the releases of " +
        "DirectXShaderCompiler and in the Vulkan SDK.",
    );
  }
  return async (file) => {
    const { code, stdout, stderr } = await run(...language, file, "-Fo", `${file}.dxil`);
    if (code === 0) return null;
    return [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes).trim()).join("\n");
  };
}
