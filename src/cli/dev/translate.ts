/** `translate`: the kernels in the languages of other drivers, without a GPU. */

import type { Command } from "commander";
import { addExamples } from "../examples.ts";
import { runDenoTool } from "./deno_tool.ts";
import { nagaVersion } from "./naga.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("translate")
    .description(
      "Translates every kernel variant, of CPU and GPU lanes and of a device with no more than WebGPU promises, " +
        "with naga to SPIR-V (Vulkan), MSL (Metal) and HLSL (Direct3D), which needs no GPU, and says which fail. " +
        "Where spirv-val is on the path it validates the SPIR-V. Takes a few minutes.",
    )
    .option("--filter <text>", "only variants whose name contains this", "")
    .option("--folder <folder>", "keep the texts and their translations there")
    .option("--dxc", "compile the HLSL with dxc, Direct3D's compiler; takes ten minutes more")
    .action(async (options: Readonly<Record<string, string | boolean>>) => {
      const asked = JSON.stringify({ ...options, naga: await nagaVersion() });
      const args = ["run", "--allow-all", "bench/machine_code/translate/main.ts", asked];
      Deno.exitCode = await runDenoTool(args);
    });
  addExamples(command, {
    "deno task translate": "every kernel variant; exit code 1 when one fails",
    "deno task translate --filter attention --folder translated": "what Metal and Direct3D get",
    "deno task translate --dxc": "compiled by Direct3D's compiler as well",
  });
}
