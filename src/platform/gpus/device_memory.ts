/** What of a device tells whose memory is asked for. */
interface Device {
  readonly name: string;
  readonly vendor: string;
  readonly software: boolean;
}

/** A device's memory, as far as it is known. */
export interface DeviceMemory {
  readonly bytes: number;
  /** Where the number is from, for messages. */
  readonly origin: string;
}

/**
 * The memory of a device. WebGPU does not tell; what the system tells is taken.
 *
 * @returns null when nothing tells
 */
export function deviceMemory(info: Device): DeviceMemory | null {
  if (info.software) return machineMemory();
  return nvidiaMemory(info.name, "total") ?? amdMemory(info, "total");
}

/**
 * The free memory of a device; of several devices of one name, which cannot be told apart, that of the one with the
 * most.
 *
 * @returns null when nothing tells
 */
export function freeDeviceMemory(info: Device): DeviceMemory | null {
  if (info.software) return machineMemory();
  return nvidiaMemory(info.name, "free") ?? amdMemory(info, "free");
}

function machineMemory(): DeviceMemory {
  const { available } = Deno.systemMemoryInfo();
  return { bytes: available, origin: "this machine has so much memory available" };
}

function nvidiaMemory(name: string, which: "total" | "free"): DeviceMemory | null {
  if (!/nvidia/i.test(name)) return null;
  const query = [`--query-gpu=name,memory.${which}`, "--format=csv,noheader,nounits"];
  try {
    const { success, stdout } = new Deno.Command("nvidia-smi", { args: query }).outputSync();
    const bytes = success ? parseNvidiaMemory(new TextDecoder().decode(stdout), name, which) : null;
    return bytes === null ? null : { bytes, origin: "nvidia-smi" };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/**
 * The smallest memory among the GPUs of a name, or the most that is free.
 *
 * @param table `name, MiB` in each line, as nvidia-smi prints it
 * @param name the adapter's
 * @returns bytes, or null when no line is about that name
 */
export function parseNvidiaMemory(
  table: string,
  name: string,
  which: "total" | "free",
): number | null {
  const sizes = table.trim().split("\n")
    .map((line) => line.split(",").map((cell) => cell.trim()))
    .filter(([model, mebibytes]) =>
      model !== "" && name.includes(model) && /^\d+$/.test(mebibytes ?? "")
    )
    .map(([, mebibytes]) => Number(mebibytes) * 2 ** 20);
  return pick(sizes, which);
}

/** Linux tells the memory of AMD's cards; with several, which one the adapter is cannot be told. */
function amdMemory(
  { vendor, name }: Device,
  which: "total" | "free",
): DeviceMemory | null {
  if (Deno.build.os !== "linux" || !/amd|radeon|0x1002/i.test(`${vendor} ${name}`)) return null;
  const cards = "/sys/class/drm";
  try {
    const sizes = [...Deno.readDirSync(cards)]
      .filter((entry) => /^card\d+$/.test(entry.name))
      .flatMap((entry) => {
        const memory = (what: string) =>
          readNumber(`${cards}/${entry.name}/device/mem_info_vram_${what}`);
        const total = memory("total");
        if (total === null) return [];
        return which === "total" ? [total] : [total - (memory("used") ?? 0)];
      });
    const bytes = pick(sizes, which);
    return bytes === null ? null : { bytes, origin: cards };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function readNumber(file: string): number | null {
  try {
    return Number(Deno.readTextFileSync(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function pick(sizes: readonly number[], which: "total" | "free"): number | null {
  if (sizes.length === 0) return null;
  return which === "total" ? Math.min(...sizes) : Math.max(...sizes);
}
