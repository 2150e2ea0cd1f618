/** Whatever happens to one rank, a run ends on all, says why, and goes on to the bytes that it leaves undisturbed. */

import { findMpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
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
    const gpu = await Gpu.open("auto");
    await project.prepare(gpu, 2 * faults.length);
    gpu.close();
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
