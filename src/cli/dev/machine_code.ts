/** `machine-code`: what a GPU's compiler makes of the kernels, without the GPU. */

import { type Command, Option } from "commander";
import { UserError } from "../../base/user_error.ts";
import { addExamples } from "../examples.ts";
import { runDenoTool } from "./deno_tool.ts";
import { type CompiledGpu, compiledGpus, fetchGpuCompiler } from "./gpu_compiler.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("machine-code")
    .description(
      "Compiles every kernel variant that Qwen2.5-0.5B, Qwen2.5-1.5B, Qwen3-0.6B and Gemma 3 1B launch, in sampling and in " +
        "training, for AMD's or NVIDIA's GPUs with Mesa's compilers, which need no GPU for it: registers, spills, " +
        "scratch memory, memory of the workgroup, instructions, subgroups at once, and of the inner loop the " +
        "instructions and the share that multiplies and adds. Fetches the compiler at the first call (Debian).",
    )
    .addOption(
      new Option("--for <gpu>", "whose machine code: AMD's RDNA3 or RDNA4, or NVIDIA's GA102")
        .choices(compiledGpus).default("rdna3"),
    )
    .addOption(
      new Option("--gpu <engine>", "whose translation of WGSL is judged")
        .choices(["native", "dawn"]).default("native"),
    )
    .addOption(
      new Option(
        "--precision <name>",
        "f16 or f16-pair: instead, the kernels that these have and f32 has not (--gpu dawn)",
      ).choices(["f32", "f16", "f16-pair"]).default("f32"),
    )
    .option("--filter <text>", "only variants whose name contains this", "")
    .option("--json <file>", "write the report there")
    .option("--assembly <folder>", "write the machine code of each variant there")
    .action(async (options: Readonly<Record<string, string>>) => {
      const usesMatrices = options.precision !== "f32";
      if (usesMatrices && options.gpu !== "dawn") {
        throw new UserError(
          `--precision ${options.precision} takes --gpu dawn: only that engine shows matrix units`,
        );
      }
      const target = options.for as CompiledGpu;
      if (usesMatrices && target === "ga102") {
        throw new UserError("--for ga102 takes --precision f32: Mesa shows no matrix units there");
      }
      const { library, title, through, environment } = await fetchGpuCompiler(target);
      const asked = JSON.stringify({ ...options, library, compiler: title });
      const args = ["run", "--allow-all", "bench/machine_code/main.ts", asked];
      const { VK_DRIVER_FILES: _, VK_ICD_FILENAMES: __, ...withoutDriver } = environment;
      // The software driver of Mesa 25.0 has no matrices; this process' own may.
      const needsOther = usesMatrices && target === "rdna3";
      Deno.exitCode = await runDenoTool(args, needsOther ? withoutDriver : environment, through);
    });
  addExamples(command, {
    "deno task machine-code": "every kernel variant",
    "deno task machine-code --filter LAYOUT --json new.json": "the matrix products, written too",
    "deno task machine-code --for ga102": "every variant for one of NVIDIA's GPUs",
    "deno task machine-code --gpu dawn --precision f16": "the products on matrix units",
    "deno task machine-code --filter adamw --assembly code": "the instructions of one kernel",
  });
}
