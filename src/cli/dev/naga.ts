import { UserError } from "../../base/user_error.ts";

/**
 * Version of the naga on this machine: the translator of WGSL that wgpu, Deno and Firefox have, as a program.
 *
 * @throws UserError where there is none
 */
export async function nagaVersion(): Promise<string> {
  try {
    const { stdout } = await new Deno.Command("naga", { args: ["--version"], stdin: "null" })
      .output();
    return new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UserError(
      "There is no naga on the path, which translates the kernels. Type: cargo install naga-cli",
    );
  }
}
