import type { MachineReport } from "./machine_report.ts";

const INSTALL_VULKAN =
  "Without a GPU, any task that needs an adapter, such as ./tango test, sees to it: on Debian 12 (amd64) it puts " +
  "Mesa's software driver into .tango/, without root; on other Debians and Ubuntu it installs libvulkan1 and " +
  "mesa-vulkan-drivers or prints the command. Elsewhere, and for a GPU: the packages with libvulkan.so.1 and the " +
  "GPU's Vulkan driver.";

/** What to do about anything missing; empty when all is well. */
export function advise(report: MachineReport): string[] {
  const { vulkan, engines, gpuDeviceFiles } = report;
  const advice: string[] = [];
  const working = engines.filter((engine) => engine.works);
  const works = (name: string) => working.some(({ engine }) => engine === name);
  if (vulkan && vulkan.loader === null) {
    advice.push(`The Vulkan loader (libvulkan.so.1) is not installed. ${INSTALL_VULKAN}`);
  } else if (vulkan && vulkan.manifests.every(({ library }) => library === null)) {
    const unreadable = vulkan.manifests.map(({ path }) => path).join(", ");
    advice.push(
      unreadable
        ? `The Vulkan loader is told to use ${unreadable}, which cannot be read. Mend or unset ` +
          "VK_DRIVER_FILES and VK_ICD_FILENAMES."
        : `The Vulkan loader finds no driver manifest. ${INSTALL_VULKAN}`,
    );
  } else if (working.length === 0) {
    advice.push(
      "No engine found a working adapter although drivers are installed. See what the loader says: " +
        "VK_LOADER_DEBUG=error,warn deno task doctor",
    );
  }
  const nvidia = gpuDeviceFiles.some((path) => path.includes("nvidia"));
  if (nvidia && !vulkan?.manifests.some(({ path }) => path.includes("nvidia"))) {
    advice.push(
      "There is an NVIDIA GPU, but no driver manifest of NVIDIA's (nvidia_icd.json). Install the driver's " +
        "Vulkan part (Debian: nvidia-vulkan-icd; Ubuntu: libnvidia-gl-…; containers need the graphics " +
        "capability: NVIDIA_DRIVER_CAPABILITIES=all), or name the file in VK_DRIVER_FILES.",
    );
  }
  if (works("native") && !works("dawn")) {
    advice.push(
      report.versions.webgpu === "not installed"
        ? "Dawn is not installed. Run: deno install"
        : "Dawn refuses this driver. With Mesa's software driver it needs Mesa 25 or newer, which ./tango brings " +
          "on Debian 12. Until then use --gpu native.",
    );
  }
  if (works("dawn") && !works("native")) {
    advice.push("Use --gpu dawn: the native engine has no adapter.");
  }
  if (working.length > 0 && working.every(({ info }) => info.software)) {
    advice.push(
      gpuDeviceFiles.length > 0
        ? `All adapters are software although ${
          gpuDeviceFiles[0]
        } exists. Check that its Vulkan driver is ` +
          "installed and that this user may open the file (group render or video)."
        : "All adapters are software: everything works, on the CPU and slowly. This machine shows no GPU.",
    );
  }
  return advice;
}
