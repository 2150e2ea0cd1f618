/** The validator of SPIR-V; null where it is not on the path. */
export async function findSpirvVal(): Promise<((file: string) => Promise<string | null>) | null> {
  const run = (...args: string[]) =>
    new Deno.Command("spirv-val", { args, stdin: "null", stdout: "piped" }).output();
  try {
    await run("--version");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  return async (file) => {
    const { code, stdout, stderr } = await run("--target-env", "vulkan1.1", file);
    if (code === 0) return null;
    return [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes).trim()).join("\n");
  };
}
