/** When processes were started: with its number, what tells one from another that has the number later. */

/** A system's way of finding out; each for any process of this machine that the user may see. */
export type ProcessStart = (pid: number) => string | null;

/**
 * When a process was started, in words or numbers of its system that differ from those of a later process with the same
 * number; null when there is none, or it has ended and is not yet collected.
 */
export const processStart: ProcessStart = {
  linux: fromProc,
  windows: fromKernel,
}[Deno.build.os as string] ?? fromPs;

/** Fields 3 and 22 of its `stat`, which begin after a name in parentheses. */
function fromProc(pid: number): string | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? null : fields[19];
  } catch {
    return null;
  }
}

/** As macOS and the BSDs have it, to the second. */
export function fromPs(pid: number): string | null {
  const { stdout } = new Deno.Command("ps", {
    args: ["-o", "state=", "-o", "lstart=", "-p", `${pid}`],
    env: { LC_ALL: "C", TZ: "UTC" },
    stdin: "null",
    stderr: "null",
  }).outputSync();
  const [state, ...start] = new TextDecoder().decode(stdout).trim().split(/\s+/);
  return state === "" || state.startsWith("Z") ? null : start.join(" ");
}

/** Of Windows: may the time be asked for, and what a process that goes on has as its exit code. */
const QUERY_LIMITED_INFORMATION = 0x1000, STILL_ACTIVE = 259;

const openKernel = () =>
  Deno.dlopen("kernel32.dll", {
    OpenProcess: { parameters: ["u32", "i32", "u32"], result: "pointer" },
    GetExitCodeProcess: { parameters: ["pointer", "buffer"], result: "i32" },
    GetProcessTimes: {
      parameters: ["pointer", "buffer", "buffer", "buffer", "buffer"],
      result: "i32",
    },
    CloseHandle: { parameters: ["pointer"], result: "i32" },
  });

let kernel32: ReturnType<typeof openKernel> | null = null;

/** In steps of 100 nanoseconds since 1601. */
function fromKernel(pid: number): string | null {
  const { symbols } = kernel32 ??= openKernel();
  const process = symbols.OpenProcess(QUERY_LIMITED_INFORMATION, 0, pid);
  if (process === null) return null;
  const [created, exited, kernel, user] = Array.from({ length: 4 }, () => new BigUint64Array(1));
  const code = new Uint32Array(1);
  const known = symbols.GetExitCodeProcess(process, code) !== 0 &&
    symbols.GetProcessTimes(process, created, exited, kernel, user) !== 0;
  symbols.CloseHandle(process);
  return known && code[0] === STILL_ACTIVE ? `${created[0]}` : null;
}
