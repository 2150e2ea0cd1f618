/**
 * What is of one system alone stands where it is known to: `deno task train` is to run on macOS and Windows too. Whoever
 * adds such a place says here what happens elsewhere.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";

const SEVERAL_RANKS = "several ranks: Linux and macOS, where MPI is; one rank never comes here";
const DEVELOPERS = "for those who work on the project, on Linux";

/** What to look for, and the files that have it with what they do on another system. */
const PLACES: Readonly<Record<string, { pattern: RegExp; known: Record<string, string> }>> = {
  "/proc": {
    pattern: /["`]\/proc\b/,
    known: {
      "platform/process/process_identity.ts":
        "elsewhere a start is a time of day, and the place the system's name",
      "platform/process/process_start.ts": "elsewhere ps or the kernel's library is asked",
      "cli/ranks/meeting.ts": SEVERAL_RANKS,
      "distributed/mpi/find_library.ts": SEVERAL_RANKS,
    },
  },
  "/dev, /sys, /tmp": {
    pattern: /["`]\/(dev|sys|tmp|etc|usr|var)\b/,
    known: {
      "cli/machine_report.ts": "a folder that is not there holds nothing to report",
      "distributed/mpi/find_library.ts": SEVERAL_RANKS,
      "platform/gpus/vulkan_drivers.ts": "asked on Linux alone",
      "platform/gpus/device_memory.ts": "asked on Linux alone",
      "run/control/endpoint/run_endpoint.ts": "not on Windows: a run there has no socket",
    },
  },
  "a shell": {
    pattern: /Command\(\s*"(sh|bash|cmd|powershell)"/,
    known: {
      "cli/dev/gpu_compiler.ts": DEVELOPERS,
      "cli/ranks/rank_watch.ts": SEVERAL_RANKS,
    },
  },
  "Unix sockets": {
    pattern: /transport: "unix"/,
    known: {
      "cli/ranks/launcher_line.ts": SEVERAL_RANKS,
      "cli/ranks/rank_watch.ts": SEVERAL_RANKS,
      "run/control/endpoint/ask_run.ts": "a run on Windows has none, and says so when it is asked",
      "run/control/endpoint/run_endpoint.ts": "not opened on Windows",
    },
  },
  "a group of processes": {
    pattern: /Deno\.kill\(-/,
    known: { "platform/process/process_identity.ts": "Windows has taskkill /T" },
  },
  "signals that are listened for": {
    pattern: /addSignalListener\(/,
    known: {
      "cli/interrupt.ts": "Deno has SIGINT, SIGTERM and SIGHUP on Windows too, since 2.7.6",
      "cli/ranks/quiet.ts": SEVERAL_RANKS,
    },
  },
  "a system's library": {
    pattern: /\bdlopen\(/,
    known: {
      "platform/process/process_start.ts": "Windows' own",
      "cli/hang_up.ts": "no known library: nobody was told to outlive the terminal",
      "distributed/mpi/c_library.ts": SEVERAL_RANKS,
      "distributed/mpi/end_unjoined.ts": SEVERAL_RANKS,
      "distributed/mpi/mpi_library.ts": SEVERAL_RANKS,
      "distributed/watch/process_end.ts": "no known library: the process is killed",
      "platform/gpus/vulkan_devices.ts": "asked on Linux alone",
      "platform/gpus/dawn_notices.ts": "no known library: Dawn's notices stay",
    },
  },
  "paths cut at slashes": {
    pattern: /(path|Path|folder|place|file)\.(split|startsWith|endsWith)\("\/"\)/,
    known: {
      "cli/dev/room_rule.ts": DEVELOPERS,
      "hub/listing.ts": "names in a repository of the Hub",
      "hub/repository.ts": "names in a repository of the Hub",
      "tab/files/archive.ts": "names in an archive, and in memory",
      "tab/files/memory_files.ts": "names in memory",
    },
  },
  "an address' path as a file": { pattern: /import\.meta\.url\)\.pathname/, known: {} },
};

function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(join(PROJECT_FOLDER, "src", folder))].flatMap(
    ({ name, isDirectory }) => {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (isDirectory) return path === "server/page" ? [] : sourcesIn(path);
      return name.endsWith(".ts") ? [path] : [];
    },
  );
}

const texts = new Map(
  sourcesIn("").map((path) => [path, Deno.readTextFileSync(join(PROJECT_FOLDER, "src", path))]),
);

for (const [what, { pattern, known }] of Object.entries(PLACES)) {
  Deno.test(`other systems: ${what}`, () => {
    const found = [...texts].filter(([, text]) => pattern.test(text)).map(([path]) => path);
    assert.deepEqual(found.sort(), Object.keys(known).sort());
  });
}
