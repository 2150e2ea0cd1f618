import assert from "node:assert/strict";
import { advise } from "../../src/cli/advice.ts";
import { type DoctorReport, formatReport } from "../../src/cli/doctor.ts";
import type { MachineReport, WorkingEngine } from "../../src/cli/machine_report.ts";
import { findVulkanDrivers } from "../../src/platform/gpus/vulkan_drivers.ts";

const working: WorkingEngine = {
  engine: "native",
  works: true,
  info: {
    engine: "native",
    name: "some adapter",
    vendor: "vendor",
    software: false,
    subgroups: true,
    subgroupMinSize: 32,
    subgroupMaxSize: 32,
    subgroupSizeControl: false,
    f16: true,
    int64: false,
    subgroupMatrix: true,
    subgroupMatrixConfigs: [
      { M: 16, N: 16, K: 8, componentType: "f16", resultComponentType: "f32" },
    ],
  },
  limits: {
    maxBufferSize: 2 ** 31,
    maxStorageBufferBindingSize: 2 ** 31,
    maxComputeWorkgroupStorageSize: 49152,
    maxComputeInvocationsPerWorkgroup: 1024,
  },
  roundTripMilliseconds: 0.1,
  settled: null,
};
const dawn: WorkingEngine = { ...working, engine: "dawn" };
const software: WorkingEngine = { ...working, info: { ...working.info, software: true } };
const broken = (engine: "native" | "dawn") =>
  ({ engine, works: false, problem: "No GPU adapter" }) as const;

function report(changes: Partial<MachineReport>): DoctorReport {
  return {
    system: {
      os: "linux",
      architecture: "x86_64",
      processors: 2,
      memoryBytes: 2 ** 33,
      freeMemoryBytes: 2 ** 32,
    },
    versions: { deno: "2.9.6", webgpu: "0.6.2" },
    vulkan: {
      loader: "/lib/libvulkan.so.1",
      manifests: [{ path: "/etc/vulkan/icd.d/nvidia_icd.json", library: "libGLX_nvidia.so.0" }],
    },
    gpus: [],
    gpuOfRank: [],
    gpuDeviceFiles: ["/dev/nvidia0"],
    engines: [working, dawn],
    ...changes,
  };
}

Deno.test("a machine with everything needs nothing", () => {
  assert.deepEqual(advise(report({})), []);
  assert.match(formatReport(report({}), []), /nothing: all is well/);
});

Deno.test("each missing part has its advice", () => {
  const none = [broken("native"), broken("dawn")];
  const cases: [Partial<MachineReport>, RegExp][] = [
    [{ engines: none, vulkan: { loader: null, manifests: [] } }, /loader .* is not installed/],
    [{ engines: none, vulkan: { loader: "x", manifests: [] } }, /finds no driver manifest/],
    [
      { engines: none, vulkan: { loader: "x", manifests: [{ path: "/bad.json", library: null }] } },
      /\/bad\.json, which cannot be read/,
    ],
    [{ engines: none }, /VK_LOADER_DEBUG/],
    [{ engines: [working, broken("dawn")] }, /Dawn refuses this driver/],
    [
      { engines: [working, broken("dawn")], versions: { deno: "2", webgpu: "not installed" } },
      /deno install/,
    ],
    [{ engines: [broken("native"), dawn] }, /--gpu dawn/],
    [{ engines: [software, broken("dawn")] }, /software although \/dev\/nvidia0 exists/],
    [{ engines: [software], gpuDeviceFiles: [] }, /on the CPU and slowly/],
    [
      { vulkan: { loader: "x", manifests: [{ path: "/lvp.json", library: "lvp.so" }] } },
      /NVIDIA GPU, but no driver manifest/,
    ],
  ];
  for (const [changes, expected] of cases) {
    assert.match(advise(report(changes)).join("\n"), expected);
  }
});

Deno.test("a report without any engine can be printed, and software is called software", () => {
  const text = formatReport(report({ vulkan: null, engines: [software, broken("dawn")] }), [
    "do this",
  ]);
  assert.match(text, /software driver on the CPU, not a GPU/);
  assert.match(text, /problem +No GPU adapter/);
  assert.match(text, /subgroup matrix +yes: 16x16x8 f16>f32/);
  assert.match(text, /- do this/);
});

Deno.test("a loader beside Deno is the one that Deno uses", () => {
  const folder = Deno.makeTempDirSync();
  Deno.mkdirSync(`${folder}/lib`);
  const loader = `${folder}/lib/libvulkan.so.1`;
  Deno.writeTextFileSync(loader, "");
  assert.equal(findVulkanDrivers(() => undefined, `${folder}/deno`).loader, loader);
  assert.notEqual(findVulkanDrivers(() => undefined, `${folder}/other/deno`).loader, loader);
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("driver manifests are read from where the environment says", () => {
  const folder = Deno.makeTempDirSync();
  Deno.mkdirSync(`${folder}/vulkan/icd.d`, { recursive: true });
  const good = `${folder}/vulkan/icd.d/good.json`;
  Deno.writeTextFileSync(good, '{"ICD": {"library_path": "/usr/lib/libgood.so"}}');
  Deno.writeTextFileSync(`${folder}/vulkan/icd.d/torn.json`, '{"ICD": ');
  const read = (variables: Record<string, string>) =>
    findVulkanDrivers((name) => variables[name]).manifests;
  assert.deepEqual(read({ VK_DRIVER_FILES: `${good}:/missing.json` }), [
    { path: good, library: "libgood.so" },
    { path: "/missing.json", library: null },
  ]);
  const found = read({ XDG_DATA_DIRS: folder }).filter(({ path }) => path.startsWith(folder));
  assert.deepEqual(found.map(({ library }) => library), ["libgood.so", null]);
  Deno.removeSync(folder, { recursive: true });
});
