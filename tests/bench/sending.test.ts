import assert from "node:assert/strict";
import { join } from "node:path";
import { howToSend, knownResults, missingResults, SHIPPED_RESULTS } from "../../bench/sending.ts";
import type { ResultsFile } from "../../bench/results.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import type { DeviceInfo } from "../../src/gpu/adapter.ts";

const info: DeviceInfo = {
  engine: "native",
  name: "NVIDIA H100 80GB HBM3",
  vendor: "nvidia",
  software: false,
  subgroups: true,
  subgroupMinSize: 32,
  subgroupMaxSize: 32,
  subgroupSizeControl: false,
  f16: true,
  int64: true,
  subgroupMatrix: false,
  subgroupMatrixConfigs: [],
};

Deno.test("a GPU's results are missing until a file has them, by its name or by what it holds", () => {
  const file = "nvidia-h100-80gb-hbm3-native.json";
  const shipped = knownResults(SHIPPED_RESULTS);
  assert.equal(missingResults(info, []), file);
  assert.equal(
    missingResults({ ...info, name: "A GPU (that nobody makes)" }, shipped),
    "a-gpu-that-nobody-makes-native.json",
  );
  const named = { file, adapter: null, engine: null };
  const held = { file: "h100.json", adapter: info.name, engine: "native" };
  assert.equal(missingResults(info, [named]), null);
  assert.equal(missingResults(info, [held]), null);
  assert.equal(
    missingResults({ ...info, engine: "dawn" }, [named, held]),
    file.replace("native", "dawn"),
  );
  assert.equal(howToSend("place.json", file).split("\n").length, 2);
});

Deno.test("a software driver's results are never missing", () => {
  assert.equal(missingResults({ ...info, software: true }, []), null);
});

Deno.test("what came with the program is known by its content", () => {
  const found = knownResults(SHIPPED_RESULTS).find(({ file }) => file === "lavapipe-dawn.json");
  assert.match(found?.adapter ?? "", /^llvmpipe/);
  assert.equal(found?.engine, "dawn");
});

Deno.test("bench writes the device, its driver and limits, and what ran beside the results", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    const file = join(folder, "new/results.json");
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", join(PROJECT_FOLDER, "bench/main.ts"), "--filter", "gemm_nt/tiny"]
        .concat(["--seconds", "0.01", "--json", file]),
      cwd: folder,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.equal(code, 0, text(stderr));
    assert.match(
      text(stdout),
      /\nKernels: as the device suggests; [^]*\nVariants that ran:\n {2}gemm nt f32/,
    );
    const { adapter, engine, device, results }: ResultsFile = JSON.parse(
      Deno.readTextFileSync(file),
    );
    assert.deepEqual([device?.info.name, device?.info.engine], [adapter, engine]);
    assert.ok(device && device.limits.maxStorageBufferBindingSize >= 2 ** 27);
    if (Deno.build.os === "linux") assert.match(device.driver ?? "", /\d/);
    assert.equal(device.versions.deno, Deno.version.deno);
    assert.deepEqual(device.tuning, []);
    assert.match(results[0].variants?.join() ?? "", /^gemm nt f32, some rows, .*: /);
    // A GPU's would be told to be sent in.
    assert.equal(/no results of this GPU/.test(text(stdout)), !device.info.software);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
