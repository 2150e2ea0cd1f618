/** Whatever happens to one rank, a run ends on all, says why, and goes on to the bytes that it leaves undisturbed. */

import { findMpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { testEachLibrary } from "../mpi/installations.ts";
import { TwoHosts } from "../two_hosts.ts";
import { faults } from "./fault.ts";
import { FaultyProject } from "./faulty_project.ts";

const mpiexec = await findMpiexec();

Deno.test({
  name: "faults: each kind ends both ranks, and a run that met them all leaves the same bytes" +
    (mpiexec === null ? " (not here: there is no mpiexec)" : ""),
  ignore: mpiexec === null,
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    using project = new FaultyProject();
    project.prepare(2 * faults.length);
    await project.train("whole", 1);
    for (const [i, fault] of faults.entries()) {
      await test.step(fault.name, async () => {
        const when = { steps: 2 * i + 1, resume: i > 0 };
        await project.suffer("struck", 2, fault, fault.ranks(2).at(-1) ?? 0, when);
      });
    }
    await project.train("struck", 1, { resume: true });
    project.compare("struck", "whole");
  },
});

Deno.test({
  name:
    "faults: rank 0, which waits for the verifier's rank, has that one say how its GPU was lost" +
    (mpiexec === null ? " (not here: there is no mpiexec)" : ""),
  ignore: mpiexec === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const lost = faults.find(({ name }) => name === "GPU lost");
    if (lost === undefined) throw new Error("there is no such fault");
    using project = new FaultyProject();
    project.prepare(100); // it ends before
    const set = ["placement.generator=0", "placement.verifier=1"];
    await project.suffer("split", 2, lost, 1, { steps: 1, set });
  },
});

testEachLibrary(
  "faults: two hosts are cut off from each other, and all ranks end",
  async (mpiexec) => {
    using hosts = TwoHosts.make();
    if (hosts === null) return console.log("this process may not make network namespaces");
    using project = new FaultyProject();
    project.prepare(4);
    await project.sufferCut("cut", hosts, mpiexec, 2, { steps: 1 });
    await project.train("whole", 1);
    await project.train("cut", 1, { resume: true });
    project.compare("cut", "whole");
  },
);
