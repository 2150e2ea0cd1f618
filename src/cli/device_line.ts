import type { DeviceInfo } from "../gpu/adapter.ts";

/** The device in a few words; software drivers are called what they are. */
export function describeDevice({ name, software, engine }: DeviceInfo): string {
  return `${name}, ${software ? "software driver, " : ""}${engine} engine`;
}

/** `152,448 parameters`. */
export function describeParameters(count: number): string {
  return `${count.toLocaleString("en-US")} parameters`;
}
