import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { formatClasses } from "../../src/cli/tune.ts";
import { gpuOf } from "../kernels/harness.ts";
import { withTinyProject } from "../run/tiny_project.ts";

Deno.test({
  name: "tune: measures what sampling from a model asks for, keeps it, and shows it",
  // The GPU that makes the models outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () =>
    await withTinyProject(await gpuOf("native"), async ({ folder, generator }) => {
      const tune = async (...options: string[]) => {
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", join(PROJECT_FOLDER, "src/cli/main.ts"), "tune", "--model", generator]
            .concat(options),
          cwd: folder,
        }).output();
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        assert.equal(code, 0, text(stderr));
        return text(stdout);
      };
      const printed = await tune();
      assert.match(
        printed,
        /^Measuring .*\nKernels: measured for \d+ classes .* \.tango\/tuning\/.*native\.json\n/,
      );
      assert.match(printed, /\| gemm nt f32, some rows, [^]*\* /);
      const { classes, said } = JSON.parse(await tune("--json"));
      assert.ok(classes.length > 0);
      assert.match(said.join("\n"), /^Kernels: as .*native\.json has them$/);
      assert.match(await tune("--redo"), /^Measuring /);
    }),
});

Deno.test("tune: the variant that is taken is marked, and why others are not is said", () => {
  const text = formatClasses([{
    operation: "gemm",
    shapeClass: "nt f32, few rows",
    shape: "4x1280x576",
    suggested: "large",
    variant: "small",
    variants: [
      { name: "large", seconds: 0.002, excluded: null },
      { name: "small", seconds: 0.0012345, excluded: null },
      { name: "strange", seconds: null, excluded: "C[0, 0] is 1, expected 2" },
    ],
  }]);
  const cells = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  assert.deepEqual(cells.slice(2, 5).map((row) => row.slice(1, 5)), [
    ["gemm nt f32, few rows", "4x1280x576", "large", "2.00 ms"],
    ["", "", "* small", "1.23 ms"],
    ["", "", "strange", "excluded"],
  ]);
  assert.match(text, /\nstrange was excluded: C\[0, 0\] is 1, expected 2$/);
});
