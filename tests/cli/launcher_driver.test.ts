import assert from "node:assert/strict";
import { join } from "node:path";
import { DebianMachine } from "./debian_machine.ts";
import type { Launch } from "./fake_machine.ts";

function test(name: string, body: () => Promise<void>): void {
  Deno.test({ name: `launcher: ${name}`, ignore: Deno.build.os !== "linux", fn: body });
}

const messages = ({ output }: Launch): string[] => output.match(/^tango: .*$/gm) ?? [];
const ran = ({ output }: Launch) => output.replaceAll(/^tango: .*\n/gm, "");

test("Debian 12 without a GPU gets Mesa's newest in a folder, without root", async () => {
  using machine = new DebianMachine();
  const first = await machine.launch(["train"]);
  assert.equal(first.code, 0, first.output);
  assert.equal(ran(first), machine.folderDriver);
  const [fetching, ready] = messages(first);
  assert.match(
    fetching,
    /^tango: no usable GPU: fetching Mesa's newest .* into \.tango\/software$/,
  );
  assert.equal(ready, "tango: Mesa 26.1.6 is ready: llvmpipe (LLVM 19.1.7, 256 bits)");
  assert.equal(
    machine.read(".tango/software/lavapipe.json"),
    '{"ICD": {"library_path": "./lib/libvulkan_lvp.so"}}\n',
  );
  assert.equal(machine.read(".tango/software/lib/libvulkan_radeon.so"), null);
  assert.equal(machine.read(".tango/software.new/apt/apt.conf"), null);
  assert.match(
    Deno.readTextFileSync(join(machine.system, "patchelf")),
    new RegExp(
      `^--set-interpreter ${machine.project}/\\.tango/software/lib/ld-linux-x86-64\\.so\\.2 ` +
        `--force-rpath --set-rpath \\$ORIGIN/lib \\S+\n$`,
    ),
  );
  assert.match(
    Deno.readTextFileSync(join(machine.system, "sources")),
    /^deb \[arch=amd64 target=Packages signed-by=\S+\] http:\/\/mirror\.test\/debian trixie main$/m,
  );
});

test("a second launch asks apt for nothing and says nothing, and doctor uses the same driver", async () => {
  using machine = new DebianMachine();
  await machine.launch(["train"]);
  machine.aptCalls();
  machine.set({ mirror: "none" });
  for (const task of ["test", "doctor"]) {
    assert.equal((await machine.launch([task])).output, machine.folderDriver);
  }
  assert.deepEqual(machine.aptCalls(), []);
});

test("doctor, lint and help fetch no driver", async () => {
  using machine = new DebianMachine();
  for (const args of [["doctor"], ["lint"], ["train", "--help"]]) {
    assert.match((await machine.launch(args)).output, /^ran \S+\/bin\/deno driver=none /);
  }
  assert.deepEqual(machine.aptCalls(), []);
});

test("machine-code takes a driver for products on matrix units alone", async () => {
  using machine = new DebianMachine();
  for (const args of [[], ["--precision", "f32"], ["--filter", "f16"]]) {
    const { output } = await machine.launch(["machine-code", ...args]);
    assert.match(output, /^ran \S+\/bin\/deno driver=none /);
  }
  assert.deepEqual(machine.aptCalls(), []);
  for (const args of [["--precision", "f16"], ["--gpu", "dawn", "--precision=f16-pair"]]) {
    assert.equal(ran(await machine.launch(["machine-code", ...args])), machine.folderDriver);
  }
});

test("a project folder that was moved or copied is mended without apt", async () => {
  using machine = new DebianMachine();
  await machine.launch(["train"]);
  machine.aptCalls();
  Deno.renameSync(machine.project, machine.project = join(machine.folder, "moved here"));
  const launch = await machine.launch(["train"]);
  assert.equal(ran(launch), machine.folderDriver);
  assert.match(
    Deno.readTextFileSync(join(machine.system, "patchelf")),
    /moved here\/\.tango\/software\/lib\/ld-linux/,
  );
  assert.deepEqual(machine.aptCalls(), []);
  assert.deepEqual(messages(await machine.launch(["train"])), []);
});

test("another Deno is copied anew without apt", async () => {
  using machine = new DebianMachine();
  await machine.launch(["train"]);
  machine.aptCalls();
  const deno = join(machine.folder, "bin/deno");
  machine.program("deno", Deno.readTextFileSync(deno).replace("deno 2.9.6", "deno 2.10.0"));
  assert.equal(ran(await machine.launch(["train"])), machine.folderDriver);
  assert.match(machine.read(".tango/software/deno")!, /2\.10\.0/);
  assert.deepEqual(machine.aptCalls(), []);
});

test("what an interrupted launch left is made anew", async () => {
  using machine = new DebianMachine();
  await machine.launch(["train"]);
  Deno.removeSync(join(machine.project, ".tango/software/made"));
  Deno.mkdirSync(join(machine.project, ".tango/software.new/lib"), { recursive: true });
  assert.equal(ran(await machine.launch(["train"])), machine.folderDriver);
  assert.deepEqual(
    [...Deno.readDirSync(join(machine.project, ".tango"))].map(({ name }) => name).sort(),
    ["software", "software.lock"],
  );
});

test("of two launches at once one makes the folder and both use it", async () => {
  using machine = new DebianMachine();
  const launches = await Promise.all([machine.launch(["train"]), machine.launch(["test"])]);
  for (const launch of launches) assert.equal(ran(launch), machine.folderDriver);
  assert.equal(machine.aptCalls().filter((call) => call.includes("--download-only")).length, 1);
});

test("a GPU's own driver comes first, and is asked once", async () => {
  using machine = new DebianMachine();
  machine.systemFile("dev/nvidia0");
  machine.installDriver("nvidia_icd.json");
  machine.adapter("NVIDIA H100 80GB HBM3");
  const gpu = `ran ${machine.folder}/bin/deno driver=none path=${machine.folder}/bin\n`;
  assert.equal((await machine.launch(["train"])).output, gpu);
  machine.adapter("llvmpipe");
  assert.equal((await machine.launch(["train"])).output, gpu);
  assert.deepEqual(machine.aptCalls(), []);
});

test("hardware drivers without a GPU, or lavapipe from the distribution, are no GPU", async () => {
  using machine = new DebianMachine();
  machine.installDriver("radeon_icd.json");
  machine.installDriver("lvp_icd.json");
  machine.adapter("llvmpipe (LLVM 15.0.6, 256 bits)");
  assert.equal(ran(await machine.launch(["train"])), machine.folderDriver);
});

test("a device file whose driver gives no GPU is said, and the folder is used", async () => {
  using machine = new DebianMachine();
  machine.systemFile("dev/dri/renderD128");
  machine.installDriver("lvp_icd.json");
  machine.adapter("llvmpipe (LLVM 15.0.6, 256 bits)");
  const launch = await machine.launch(["train"]);
  assert.equal(ran(launch), machine.folderDriver);
  assert.match(
    messages(launch)[0],
    /a GPU \(\S+renderD128\) that no Vulkan driver serves .*doctor/,
  );
});

test("a GPU without a driver gets the distribution's, where the rights allow it", async () => {
  using root = new DebianMachine({ root: true, installed: "AMD Radeon RX 7900 XTX (RADV NAVI31)" });
  root.systemFile("dev/dri/renderD128");
  assert.match(ran(await root.launch(["train"])), /\/bin\/deno driver=none/);
  assert.ok(root.aptCalls().some((call) => /-q install .*mesa-vulkan-drivers/.test(call)));
  using user = new DebianMachine();
  user.systemFile("dev/dri/renderD128");
  const launch = await user.launch(["train"]);
  assert.equal(ran(launch), user.folderDriver);
  assert.match(messages(launch)[0], /that no Vulkan driver serves to this user/);
});

test("a driver that the user names is used and nothing is installed", async () => {
  for (const name of ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"]) {
    using machine = new DebianMachine();
    machine.adapter("some adapter");
    const { code, output } = await machine.launch(["train"], { [name]: "/some/driver.json" });
    assert.equal(code, 0);
    assert.match(output, new RegExp(`^ran ${machine.folder}/bin/deno driver=`));
    assert.deepEqual(machine.aptCalls(), []);
  }
});

test("without a network one message says what to do, exit 2", async () => {
  using machine = new DebianMachine({ mirror: "none" });
  const launch = await machine.launch(["train"]);
  assert.equal(launch.code, 2);
  assert.equal(ran(launch), "");
  const [, problem, ...more] = messages(launch);
  assert.deepEqual(more, []);
  assert.match(
    problem,
    /no Vulkan adapter found.*Failed to fetch http:\/\/mirror\.test\S+ +Not there/,
  );
  assert.match(problem, /Connect this machine to its Debian mirror .* run this again/);
  assert.match(problem, /root type: .*bookworm-backports.*apt-get install -y/);
  assert.equal(machine.read(".tango/software.refused"), null);
});

test("a mirror without Debian 13 falls back to the distribution's driver, and says so", async () => {
  using machine = new DebianMachine({ root: true, mirror: "release" });
  const fallback = `ran ${machine.folder}/bin/deno driver=none path=${machine.folder}/bin\n`;
  const first = await machine.launch(["train"]);
  assert.equal(ran(first), fallback, first.output);
  const line = messages(first).at(-1)!;
  assert.match(
    line,
    /using the installed Vulkan driver: .*\(Failed to fetch .*\)\. To try again: rm /,
  );
  machine.aptCalls();
  const second = await machine.launch(["train"]);
  assert.deepEqual(messages(second), [line]);
  assert.equal(ran(second), fallback);
  assert.deepEqual(machine.aptCalls(), []);
});

test("a mirror without backports gives Debian 13's own Mesa", async () => {
  using machine = new DebianMachine({ mirror: "no backports" });
  const launch = await machine.launch(["train"]);
  assert.equal(ran(launch), machine.folderDriver, launch.output);
});

test("a Mesa that gives no adapter falls back to the installed driver with the reason", async () => {
  using machine = new DebianMachine();
  machine.systemFile("broken-mesa");
  machine.installDriver("lvp_icd.json");
  const launch = await machine.launch(["train"]);
  assert.match(launch.output, /using the installed Vulkan driver: .*gives Deno no adapter/);
  assert.match(ran(launch), /driver=none/);
});

test("elsewhere apt installs the newest it has, or the command is printed", async () => {
  for (const setting of [{ release: "trixie" }, { architecture: "aarch64" }]) {
    using root = new DebianMachine({ ...setting, root: true });
    const launch = await root.launch(["train"]);
    assert.equal(launch.code, 0, launch.output);
    assert.match(ran(launch), /driver=none/);
    assert.ok(root.aptCalls().some((call) => /-q install .*mesa-vulkan-drivers/.test(call)));
    using user = new DebianMachine(setting);
    const refused = await user.launch(["train"]);
    assert.equal(refused.code, 2);
    assert.match(
      refused.output,
      /^tango: no Vulkan adapter found\. With root's rights this installs one: .*-backports.*\n$/,
    );
  }
});
