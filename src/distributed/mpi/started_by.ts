/** What started this process as one of several ranks, as the environment tells. */

/** Families of MPI, whose launchers start only programs that use their own library. */
export type Family = "Open MPI" | "MPICH";

/** How this process was started. */
export interface Start {
  /** For messages. */
  readonly launcher: string;
  /** null where the launcher serves several. */
  readonly family: Family | null;
  readonly rank: number;
  /** At least 2: a process that was started alone needs nobody. */
  readonly size: number;
}

/** Reads a variable of the environment. */
export type Environment = (name: string) => string | undefined;

/** Returns null for a process that is alone, also when a launcher started just one. */
export function startedBy(environment: Environment): Start | null {
  const start = openMpi(environment) ?? pmi(environment) ?? slurm(environment);
  return start !== null && start.size > 1 ? start : null;
}

function openMpi(environment: Environment): Start | null {
  const rank = whole(environment("OMPI_COMM_WORLD_RANK"));
  const size = whole(environment("OMPI_COMM_WORLD_SIZE"));
  if (rank === null || size === null) return null;
  return { launcher: "Open MPI's mpirun", family: "Open MPI", rank, size };
}

function pmi(environment: Environment): Start | null {
  const rank = whole(environment("PMI_RANK")), size = whole(environment("PMI_SIZE"));
  if (rank === null || size === null) return null;
  const launcher = environment("MPI_LOCALRANKID") === undefined ? "srun" : "MPICH's mpiexec";
  return { launcher, family: "MPICH", rank, size };
}

function slurm(environment: Environment): Start | null {
  const rank = whole(environment("SLURM_PROCID"));
  const size = whole(environment("SLURM_STEP_NUM_TASKS"));
  const step = whole(environment("SLURM_STEP_ID"));
  // A batch script is a step with a very high number; what it calls may start ranks, but is none.
  if (rank === null || size === null || step === null || step >= 2 ** 31) return null;
  return { launcher: "srun", family: null, rank, size };
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}
