/** `deno task doctor`: what this machine offers, and what to do about anything missing. */

import type { Command } from "commander";
import { advise } from "./advice.ts";
import { addExamples } from "./examples.ts";
import { describeGpu, describeModel, type ListedGpu } from "../platform/gpus/gpu_list.ts";
import { describeSharing, gpusOfRanks } from "../platform/gpus/gpus_of_ranks.ts";
import { whyNotOnGpu } from "../platform/gpus/on_gpu.ts";
import { type BrokenEngine, examineMachine, type MachineReport } from "./machine_report.ts";
import type { WorkingEngine } from "./machine_report.ts";
import { EXIT } from "./program.ts";
import { parseCount } from "./run_options.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("doctor")
    .description("Shows the GPU adapters of both engines and what to do about anything missing.")
    .option("--ranks <number>", "say which GPU each process of so many would take", parseCount)
    .option("--json", "print one JSON object instead")
    .action(doctor);
  addExamples(command, {
    "deno task doctor": "prints the report; exit code 2 when no engine has a working adapter",
    "deno task doctor --ranks 4": "also which GPU each of four processes on this machine takes",
    "deno task doctor --json": "the same for programs",
  });
}

interface DoctorOptions {
  readonly json?: boolean;
  readonly ranks?: number;
}

async function doctor(options: DoctorOptions): Promise<void> {
  const machine = await examineMachine();
  const gpuOfRank = gpusOfRanks(machine.gpus, options.ranks ?? 0);
  const report: DoctorReport = { ...machine, gpuOfRank };
  const sharing = describeSharing(gpuOfRank.map((gpu) => ({ gpu })));
  const unreachable = [...new Set(gpuOfRank)].flatMap((gpu) => whyNotOnGpu(gpu) ?? []);
  const advice = [...advise(report), ...sharing, ...unreachable];
  console.log(
    options.json ? JSON.stringify({ ...report, advice }, null, 2) : formatReport(report, advice),
  );
  if (!report.engines.some(({ works }) => works)) Deno.exitCode = EXIT.userError;
}

/** What is printed. */
export interface DoctorReport extends MachineReport {
  /** By local rank; empty when nobody asked. */
  readonly gpuOfRank: readonly ListedGpu[];
}

/** The report as text. */
export function formatReport(report: DoctorReport, advice: readonly string[]): string {
  const { system, versions, vulkan, gpus, gpuOfRank } = report;
  return [
    ...section("System", [
      ["machine", `${system.os}, ${system.architecture}, ${system.processors} processors`],
      ["memory", `${bytes(system.memoryBytes)}, ${bytes(system.freeMemoryBytes)} free`],
      ["Deno", versions.deno],
      ["webgpu (Dawn)", versions.webgpu],
    ]),
    ...(vulkan
      ? section("Vulkan", [
        ["loader", vulkan.loader ?? "not found"],
        ...vulkan.manifests.map((
          { path, library },
        ): Row => ["driver", `${path} (${library ?? "unreadable"})`]),
        ...(vulkan.manifests.length === 0 ? [["drivers", "none"] satisfies Row] : []),
      ])
      : []),
    ...(gpus.length > 0
      ? section("GPUs", gpus.map((gpu): Row => [`GPU ${gpu.index}`, describeModel(gpu)]))
      : []),
    ...(gpuOfRank.length > 0
      ? section(
        "Ranks on this machine",
        gpuOfRank.map((gpu, rank): Row => [`rank ${rank}`, describeGpu(gpu)]),
      )
      : []),
    ...report.engines.flatMap((engine) =>
      section(
        engine.engine === "native" ? "Engine native (Deno)" : "Engine dawn",
        engine.works ? workingRows(engine) : brokenRows(engine),
      )
    ),
    "What to do",
    ...(advice.length > 0 ? advice.map((line) => `  - ${line}`) : ["  nothing: all is well"]),
  ].join("\n");
}

type Row = readonly [name: string, value: string];

function section(title: string, rows: readonly Row[]): string[] {
  return [title, ...rows.map(([name, value]) => `  ${name.padEnd(20)} ${value}`), ""];
}

function brokenRows({ problem }: BrokenEngine): Row[] {
  return [["adapter", "none"], ["problem", problem]];
}

function workingRows(engine: WorkingEngine): Row[] {
  const { info, limits, roundTripMilliseconds, settled } = engine;
  const sizes = info.subgroupMinSize === info.subgroupMaxSize
    ? `${info.subgroupMinSize}`
    : `${info.subgroupMinSize} to ${info.subgroupMaxSize}`;
  return [
    ["adapter", info.name],
    ["kind", info.software ? "software driver on the CPU, not a GPU" : "GPU"],
    ["subgroups", info.subgroups ? `yes, ${sizes} lanes` : "no"],
    ["f16 arithmetic", yesNo(info.f16)],
    ["subgroup matrix", info.subgroupMatrix ? matrixConfigs(info.subgroupMatrixConfigs) : "no"],
    ...(settled
      ? [["precision auto", `${settled.precision}, ${settled.because}`]] satisfies Row[]
      : []),
    ["largest buffer", bytes(limits.maxBufferSize)],
    ["largest binding", bytes(limits.maxStorageBufferBindingSize)],
    ["workgroup memory", bytes(limits.maxComputeWorkgroupStorageSize)],
    ["workgroup lanes", `${limits.maxComputeInvocationsPerWorkgroup}`],
    ["test kernel", `right, ${roundTripMilliseconds.toFixed(2)} ms to launch and read`],
  ];
}

function matrixConfigs(configs: WorkingEngine["info"]["subgroupMatrixConfigs"]): string {
  const names = configs.map(({ M, N, K, componentType, resultComponentType }) =>
    `${M}x${N}x${K} ${componentType}>${resultComponentType}`
  );
  return `yes: ${names.join(", ")}`;
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}

function bytes(count: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${Number((count / 1024 ** power).toFixed(1))} ${units[power]}`;
}
