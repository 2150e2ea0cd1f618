import assert from "node:assert/strict";
import { startedBy } from "../../../src/distributed/mpi/started_by.ts";

const from = (environment: Record<string, string>) => startedBy((name) => environment[name]);

Deno.test("a rank's start is found in what its launcher sets", () => {
  const openMpi = { OMPI_COMM_WORLD_RANK: "3", OMPI_COMM_WORLD_SIZE: "16", PMIX_RANK: "3" };
  assert.deepEqual(from(openMpi), {
    launcher: "Open MPI's mpirun",
    family: "Open MPI",
    rank: 3,
    size: 16,
  });
  const mpich = { PMI_RANK: "0", PMI_SIZE: "2", PMI_FD: "6", MPI_LOCALRANKID: "0" };
  const found = { launcher: "MPICH's mpiexec", family: "MPICH", rank: 0, size: 2 };
  assert.deepEqual(from(mpich), found);
  // In a cluster's job it starts its own helpers by srun, one for each machine.
  const helper = { SLURM_PROCID: "0", SLURM_STEP_NUM_TASKS: "1", SLURM_STEP_ID: "0" };
  assert.deepEqual(from({ ...mpich, ...helper }), found);
});

Deno.test("srun starts ranks of any family", () => {
  const step = { SLURM_PROCID: "5", SLURM_STEP_NUM_TASKS: "8", SLURM_STEP_ID: "0" };
  assert.deepEqual(from(step), { launcher: "srun", family: null, rank: 5, size: 8 });
  assert.equal(from({ ...step, PMIX_RANK: "5" })?.family, null);
  assert.deepEqual(from({ ...step, PMI_RANK: "5", PMI_SIZE: "8" }), {
    launcher: "srun",
    family: "MPICH",
    rank: 5,
    size: 8,
  });
});

Deno.test("a process that is alone is no rank", () => {
  assert.equal(from({}), null);
  assert.equal(from({ OMPI_COMM_WORLD_RANK: "0", OMPI_COMM_WORLD_SIZE: "1" }), null);
  // A batch script, and what runs in it.
  const batch = { SLURM_PROCID: "0", SLURM_NTASKS: "8", SLURM_JOB_ID: "77" };
  assert.equal(from(batch), null);
  assert.equal(from({ ...batch, SLURM_STEP_NUM_TASKS: "8", SLURM_STEP_ID: "4294967291" }), null);
  assert.equal(from({ PMI_RANK: "x", PMI_SIZE: "2" }), null);
});
