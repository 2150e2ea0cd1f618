import assert from "node:assert/strict";
import { filtered } from "../../bench/machine_code/filtered.ts";
import { innerLoop, nestedLoops } from "../../bench/machine_code/inner_loop.ts";
import { withMatrixSize } from "../../bench/machine_code/matrix_spirv.ts";
import { nvidiaLoops } from "../../bench/machine_code/nvidia_code.ts";
import type { MachineCodeFile } from "../../bench/machine_code/report.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { type CompiledGpu, fetchGpuCompiler } from "../../src/cli/dev/gpu_compiler.ts";
import { UserError } from "../../src/base/user_error.ts";
import { gpuOf, testedEngines } from "../kernels/harness.ts";

Deno.test("the loop that multiplies most is found, without what a loop within it does", () => {
  const code = `BB0:
\tv_fma_f32 v0, v1, v2, v3    ; 00
BB1:
\tv_fmac_f32_e32 v0, v1, v2   ; 00
\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5 ; 00
BB2:
\tds_load_b128 v[0:3], v4     ; 00
\tv_add_nc_u32_e32 v7, 1, v7  ; 00
\ts_cbranch_scc1 BB2          ; 00
BB3:
\tv_fmac_f32_e32 v0, v1, v2   ; 00
\ts_branch BB1                ; 00
BB4:
\ts_endpgm                    ; 00`;
  const loops = nestedLoops(code);
  assert.deepEqual(loops, [
    { depth: 0, instructions: 5, multiplyAdds: 4, matrixProducts: 0 },
    { depth: 1, instructions: 3, multiplyAdds: 0, matrixProducts: 0 },
  ]);
  assert.deepEqual(innerLoop(loops), { instructions: 5, multiplyAdds: 4 });
  assert.equal(innerLoop(nestedLoops("BB0:\n\tv_fma_f32 v0, v1, v2, v3")), null);
});

Deno.test("of a kernel on matrix units the loop with the matrices is the inner one", () => {
  const code = `BB0:
\tv_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] ; 00
\ts_nop 0                     ; 00
BB1:
\tv_fma_f32 v0, v1, v2, v3    ; 00
\tv_fma_f32 v0, v1, v2, v3    ; 00
\ts_cbranch_scc1 BB1          ; 00
\ts_branch BB0                ; 00`;
  assert.deepEqual(innerLoop(nestedLoops(code)), { instructions: 3, multiplyAdds: 1 });
});

Deno.test("the loops of NVIDIA's code are those whose blocks are followed by earlier ones", () => {
  const code = `block.u 0 L1 [] -> {
      ur0     = s2r sr[0x25]                 // delay=1 wr:0
} -> [1]
block 1 L3 [0, 3] -> {
      r1      = ffma r2 r3 r1                // delay=4
@!p0            bra pT L7                    // delay=1
} -> [2, 4]
block 2 L5 [1, 2] -> {
      r4      = ffma r2 r3 r4                // delay=4
      r5      = ffma r2 r3 r5                // delay=4
@p1             bra pT L5                    // delay=1
} -> [3, 2]
block 3 L6 [2] -> {
                bra pT L3                    // delay=1
} -> [1]
block 4 L7 [1] -> {
                exit                         // delay=1
} -> []`;
  assert.deepEqual(nvidiaLoops(code), [
    { depth: 0, instructions: 3, multiplyAdds: 1, matrixProducts: 0 },
    { depth: 1, instructions: 3, multiplyAdds: 2, matrixProducts: 0 },
  ]);
});

Deno.test("matrices of SPIR-V get another size, whatever else is of the old one", () => {
  const [header, float, uint, eight] = [[0x07230203, 0x10600, 0, 9, 0], 3, 4, 5];
  const instruction = (operation: number, ...rest: number[]) => [
    (rest.length + 1) << 16 | operation,
    ...rest,
  ];
  const before = [instruction(22, float, 16), instruction(21, uint, 32, 0)].flat();
  const constant = instruction(43, uint, eight, 8);
  const matrix = (rows: number) => instruction(4456, 7, float, 6, rows, rows, 2);
  const after = instruction(28, 8, float, eight);
  const words = [header, before, constant, matrix(eight), after].flat();
  assert.deepEqual([...withMatrixSize(new Uint32Array(words), 16)], [
    ...[0x07230203, 0x10600, 0, 10, 0],
    ...[before, constant, instruction(43, uint, 9, 16), matrix(9), after].flat(),
  ]);
  assert.throws(() => withMatrixSize(new Uint32Array([header, before].flat()), 16), /without/);
});

/** Why a GPU cannot be compiled for here; null when it can. */
async function refusalOf(gpu: CompiledGpu): Promise<string | null> {
  try {
    await fetchGpuCompiler(gpu);
    return null;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.log(`machine-code is not tested for ${gpu}: ${error.message}`);
    return error.message;
  }
}

Deno.test("a filter that no variant's name holds is refused with what names there are", () => {
  const names = ["qkv LAYOUT=0 TK=16", "qkv LAYOUT=1", "rope norm sums HEADS=8"];
  const name = (text: string) => text;
  assert.deepEqual(filtered(names, name, "LAYOUT=1"), ["qkv LAYOUT=1"]);
  assert.throws(() => filtered(names, name, "gemm"), {
    name: "UserError",
    message:
      "--filter gemm: no kernel variant has this in its name. Their names begin with qkv, rope norm sums.",
  });
});

const refusal = await refusalOf("rdna3");

/** What the command writes. */
async function report(...options: string[]): Promise<MachineCodeFile> {
  const file = await Deno.makeTempFile();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "src/cli/main.ts", "machine-code", "--json", file, ...options],
    cwd: PROJECT_FOLDER,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.equal(code, 0, text(stderr));
  const written: MachineCodeFile = JSON.parse(Deno.readTextFileSync(file));
  Deno.removeSync(file);
  assert.ok(text(stdout).startsWith(`${written.compiler} · `), text(stdout));
  assert.match(text(stdout), /\| kernel .*\| waves /);
  return written;
}

const faulty = (kernels: MachineCodeFile["kernels"]) =>
  kernels.filter(({ spills, scratch }) => spills + scratch > 0).map(({ kernel }) => kernel);

for (const engine of testedEngines) {
  Deno.test({
    name:
      `every kernel of the models compiles for RDNA3 without spills and scratch memory, tall tiles to 65 % multiply-adds (${engine})`,
    ignore: refusal !== null,
    fn: async () => {
      const { compiler, kernels } = await report("--gpu", engine);
      assert.match(compiler, /^RADV of Mesa 25\./);
      assert.ok(kernels.some(({ kernel }) => kernel.startsWith("adamw")));
      for (const { kernel, loop } of kernels) {
        const [, rows, lanes] = kernel.match(/ RM=(\d+) .* LY=(\d+) /) ?? [];
        if (!(Number(rows) * Number(lanes) >= 64)) continue;
        assert.ok(loop && loop.multiplyAdds >= 0.65 * loop.instructions, kernel);
      }
      assert.deepEqual(faulty(kernels), []);
    },
  });
}

const shimRefusal = await refusalOf("ga102");

for (
  const [gpu, compiler, mostRegisters] of [
    ["rdna4", /^RADV of Mesa \d+\..*\(gfx1201\)$/, 256],
    ["ga102", /^NVK of Mesa \d+\..*GA102$/, 255],
  ] as const
) {
  // About twenty quiet seconds, of which most go into finding out what the models launch.
  Deno.test({
    name: `attention and its gradients compile for ${gpu} without spills and scratch memory`,
    ignore: shimRefusal !== null,
    fn: async () => {
      const file = await report("--for", gpu, "--filter", "attention ");
      assert.match(file.compiler, compiler);
      assert.ok(file.kernels.length > 5, `${file.kernels.length} kernels`);
      assert.deepEqual(faulty(file.kernels), []);
      for (const { kernel, vgprs, waves, instructions } of file.kernels) {
        assert.ok(vgprs > 0 && vgprs <= mostRegisters && waves > 0 && instructions > 0, kernel);
      }
      assert.ok(file.kernels.some(({ loop }) => loop !== null));
    },
  });
}

const { info } = await gpuOf("dawn");
const hasMatrices = info.subgroupMatrixConfigs.some(({ M, resultComponentType }) =>
  M === 8 && resultComponentType === "f32"
);

Deno.test({
  name: "every kernel on matrix units compiles for RDNA3 without spills and scratch memory",
  ignore: refusal !== null || !hasMatrices,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    // Two f16 for a factor: these kernels take more of everything.
    const { kernels } = await report("--gpu", "dawn", "--precision", "f16-pair");
    const onUnits = kernels.filter(({ kernel }) => kernel.includes(" MM="));
    assert.ok(onUnits.length > 20);
    for (const { kernel, loop } of onUnits) {
      // Three products of each pair of matrices.
      assert.ok(loop && loop.multiplyAdds % 3 === 0, kernel);
    }
    assert.deepEqual(faulty(kernels), []);
  },
});
