import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeMachine, type Launch } from "./fake_machine.ts";

const train = ["train", "--ranks", "4"];
const ran = "deno run -A src/cli/main.ts train --ranks 4\n";

/** A machine whose pip and apt give what they are told to; what they are called with lands in `calls`. */
class MpiMachine extends FakeMachine {
  constructor({ pip, apt }: { pip?: "wheel" | "refused"; apt?: "package" | "refused" }) {
    super();
    this.program("ln", `/bin/ln "$@"`);
    this.program("deno", `[ "$1" = --version ] && echo "deno 2.9.6" || echo "deno $*"`);
    this.systemFile("etc/os-release", apt ? "ID=debian\n" : "ID=fedora\n");
    const calls = join(this.system, "calls");
    if (pip) {
      this.program(
        "python3",
        `
case "$*" in *--version) exit ;; esac
echo "pip $*" >> ${calls}
[ ${pip} = wheel ] || { echo "ERROR: No matching distribution found for mpich==5.0.2"; exit 1; }
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/bin" "$2/lib"
printf '#!/bin/sh\\n' > "$2/bin/mpiexec"
chmod +x "$2/bin/mpiexec"`,
      );
    }
    this.program(
      "apt-get",
      `
folder=\${3%/*}
echo "apt $4" >> ${calls}
[ "${apt}" = package ] || { echo "E: Failed to fetch http://mirror.test"; exit 100; }
: > $folder/archives/mpich_4.0.2-3_amd64.deb`,
    );
    this.program(
      "dpkg-deb",
      `mkdir -p $3/usr/bin $3/usr/lib/x86_64-linux-gnu
printf '#!/bin/sh\\n' > $3/usr/bin/mpiexec.hydra
chmod +x $3/usr/bin/mpiexec.hydra`,
    );
  }

  calls(): string {
    try {
      return Deno.readTextFileSync(join(this.system, "calls"));
    } catch {
      return "";
    }
  }

  train(
    args: readonly string[] = train,
    environment: Record<string, string> = {},
  ): Promise<Launch> {
    return this.launch(args, { VK_DRIVER_FILES: this.driver(), ...environment });
  }

  /** A Vulkan driver that the user names, so that none is looked for. */
  driver(): string {
    this.program("ldconfig", "echo libvulkan.so.1");
    this.systemFile("driver.json", "{}");
    return join(this.system, "driver.json");
  }
}

const has = (machine: FakeMachine, path: string) =>
  Deno.statSync(join(machine.project, ".tango/mpi", path)).isFile;

Deno.test("launcher: --ranks brings MPICH by pip where there is no mpiexec, once", async () => {
  using machine = new MpiMachine({ pip: "wheel", apt: "package" });
  const { code, output } = await machine.train();
  assert.equal(code, 0, output);
  assert.equal(
    output,
    `${ran}tango: no mpiexec on PATH: fetching MPICH 5.0.2 (PyPI's package mpich) into .tango/mpi\n`,
  );
  assert.ok(has(machine, "bin/mpiexec"));
  assert.match(machine.calls(), /^pip -m pip install .* mpich==5\.0\.2\n$/);
  assert.equal((await machine.train()).output, ran);
  assert.doesNotMatch(machine.calls(), /\n.*\n/);
});

Deno.test("launcher: --ranks takes the distribution's MPICH where there is no pip", async () => {
  for (const pip of [undefined, "refused"] as const) {
    using machine = new MpiMachine({ pip, apt: "package" });
    const { code, output } = await machine.train(["sft", "--ranks=2"]);
    assert.equal(code, 0, output);
    assert.match(
      output,
      /^tango: no mpiexec on PATH: fetching the distribution's package mpich into \.tango\/mpi$/m,
    );
    assert.ok(has(machine, "bin/mpiexec"));
    assert.equal(machine.read(".tango/mpi/apt/apt.conf"), null);
  }
});

Deno.test("launcher: --ranks without any MPI is one message with what to do, exit 2", async () => {
  using machine = new MpiMachine({ pip: "refused", apt: "refused" });
  const { code, output } = await machine.train();
  assert.equal(code, 2);
  const [last] = output.trim().split("\n").slice(-1);
  assert.match(
    last,
    /^tango: --ranks needs MPI, and this machine has no mpiexec\. .*pip said "ERROR: No matching/,
  );
  assert.match(
    last,
    /apt said "Failed to fetch .*Install MPICH or Open MPI \(Debian, Ubuntu: apt install mpich;/,
  );
  assert.equal(machine.read(".tango/mpi.new/output"), null);
  using other = new MpiMachine({});
  assert.match(
    (await other.train()).output,
    /there is no pip .*; apt, for the package mpich, is not on this system\. /,
  );
});

Deno.test("launcher: nothing is brought where there is an mpiexec, or for one rank, or to a rank", async () => {
  using machine = new MpiMachine({ pip: "wheel" });
  for (
    const args of [["train"], ["train", "--ranks", "1"], ["train", "--ranks", "many"], [
      "doctor",
      "--ranks",
      "2",
    ]]
  ) {
    await machine.train(args);
  }
  await machine.train(train, { OMPI_COMM_WORLD_SIZE: "4" });
  await machine.train(train, { PMI_SIZE: "4" });
  machine.program("mpiexec", "exit");
  await machine.train();
  assert.equal(machine.calls(), "");
});
