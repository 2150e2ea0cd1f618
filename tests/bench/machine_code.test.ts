import assert from "node:assert/strict";
import { innerLoop } from "../../bench/machine_code/inner_loop.ts";
import type { MachineCodeFile } from "../../bench/machine_code/report.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { fetchRadv } from "../../src/cli/dev/radv.ts";
import { UserError } from "../../src/base/user_error.ts";

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
  assert.deepEqual(innerLoop(code), { instructions: 5, multiplyAdds: 4 });
  assert.equal(innerLoop("BB0:\n\tv_fma_f32 v0, v1, v2, v3"), null);
});

const refusal = await fetchRadv().then(() => null, (error) => {
  if (!(error instanceof UserError)) throw error;
  return error.message;
});
if (refusal !== null) console.log(`machine-code is not tested: ${refusal}`);

for (const engine of ["native", "dawn"]) {
  Deno.test({
    name:
      `every kernel of the models compiles for RDNA3 without spills and scratch memory, tall tiles to 65 % multiply-adds (${engine})`,
    ignore: refusal !== null,
    fn: async () => {
      const file = await Deno.makeTempFile();
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "src/cli/main.ts", "machine-code", "--gpu", engine, "--json", file],
        cwd: PROJECT_FOLDER,
        stdin: "null",
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      assert.equal(code, 0, text(stderr));
      assert.match(text(stdout), /^RADV of Mesa 25\.[^]*\| kernel .*\| waves /);
      const { kernels }: MachineCodeFile = JSON.parse(Deno.readTextFileSync(file));
      Deno.removeSync(file);
      assert.ok(kernels.some(({ kernel }) => kernel.startsWith("adamw")));
      for (const { kernel, loop } of kernels) {
        const [, rows, lanes] = kernel.match(/ RM=(\d+) .* LY=(\d+) /) ?? [];
        if (!(Number(rows) * Number(lanes) >= 64)) continue;
        assert.ok(loop && loop.multiplyAdds >= 0.65 * loop.instructions, kernel);
      }
      const faulty = kernels.filter(({ spills, scratch }) => spills + scratch > 0)
        .map(({ kernel }) => kernel);
      assert.deepEqual(faulty, []);
    },
  });
}
