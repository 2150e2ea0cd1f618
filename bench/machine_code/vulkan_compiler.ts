import { CStruct } from "./c_struct.ts";
import { readInterface } from "./spirv.ts";

/** What a driver says of a compiled kernel. */
export interface CompiledKernel {
  /** Lanes of a subgroup. */
  readonly subgroupSize: number;
  /** By the driver's names. */
  readonly statistics: ReadonlyMap<string, number>;
  /** The machine code as text. */
  readonly assembly: string;
}

const matrixExtension = "VK_KHR_cooperative_matrix";

type Value = CStruct | bigint | number | null;

/**
 * The compiler of a Vulkan driver, called without the loader, so that the process may compute on another
 * driver. Structs are those of the Vulkan 1.3 specification and VK_KHR_pipeline_executable_properties.
 */
export class VulkanCompiler {
  readonly #instance: bigint;
  readonly #device: bigint;
  /** The device's name. */
  readonly name: string;

  private constructor(
    private readonly addressOf: (instance: bigint, name: Uint8Array<ArrayBuffer>) => bigint,
  ) {
    const application = new CStruct(48, 0).u32(44, (1 << 22) | (3 << 12));
    const instance = new CStruct(8);
    this.#instance = 0n;
    this.#check("vkCreateInstance", new CStruct(64, 1).pointer(24, application), null, instance);
    this.#instance = instance.readU64(0);
    const count = new CStruct(4).u32(0, 1);
    const physical = new CStruct(8);
    this.#check("vkEnumeratePhysicalDevices", this.#instance, count, physical);
    const physicalDevice = physical.readU64(0);
    const properties = new CStruct(1024);
    this.#call("vkGetPhysicalDeviceProperties", physicalDevice, properties);
    this.name = properties.readText(20, 256);
    this.#device = this.#openDevice(physicalDevice);
  }

  /** @param library of the driver */
  static open(library: string): VulkanCompiler {
    const { symbols } = Deno.dlopen(library, {
      vk_icdNegotiateLoaderICDInterfaceVersion: { parameters: ["buffer"], result: "i32" },
      vk_icdGetInstanceProcAddr: { parameters: ["u64", "buffer"], result: "pointer" },
    });
    symbols.vk_icdNegotiateLoaderICDInterfaceVersion(new CStruct(4).u32(0, 5).bytes);
    return new VulkanCompiler((instance, name) =>
      BigInt(Deno.UnsafePointer.value(symbols.vk_icdGetInstanceProcAddr(instance, name)))
    );
  }

  /** With everything it offers, as the engines open it. */
  #openDevice(physicalDevice: bigint): bigint {
    const robustness = new CStruct(32, 1000286000);
    const executables = new CStruct(24, 1000269000).pointer(8, robustness);
    const offered = this.#extensionsOf(physicalDevice);
    const matrices = new CStruct(24, 1000506000).pointer(8, executables);
    const hasMatrices = offered.includes(matrixExtension);
    const vulkan13 = new CStruct(80, 53).pointer(8, hasMatrices ? matrices : executables);
    const vulkan12 = new CStruct(208, 51).pointer(8, vulkan13);
    const vulkan11 = new CStruct(64, 49).pointer(8, vulkan12);
    const features = new CStruct(240, 1000059000).pointer(8, vulkan11);
    this.#call("vkGetPhysicalDeviceFeatures2", physicalDevice, features);
    const priority = new Uint8Array(new Float32Array([1]).buffer);
    const queue = new CStruct(40, 2).u32(24, 1).pointer(32, priority);
    const extensions = [
      "VK_KHR_pipeline_executable_properties",
      "VK_EXT_robustness2",
      ...(hasMatrices ? [matrixExtension] : []),
    ];
    const names = new CStruct(8 * extensions.length);
    extensions.forEach((name, i) => names.text(8 * i, name));
    const description = new CStruct(72, 3).pointer(8, features).u32(20, 1).pointer(24, queue)
      .u32(48, extensions.length).pointer(56, names);
    const device = new CStruct(8);
    this.#check("vkCreateDevice", physicalDevice, description, null, device);
    return device.readU64(0);
  }

  /** Names of what a device has beside Vulkan itself. */
  #extensionsOf(physicalDevice: bigint): string[] {
    const count = new CStruct(4);
    const name = "vkEnumerateDeviceExtensionProperties";
    this.#check(name, physicalDevice, null, count, null);
    const size = 260;
    const structs = new CStruct(size * count.readU32(0));
    this.#check(name, physicalDevice, null, count, structs);
    return Array.from(
      { length: count.readU32(0) },
      (_, i) => structs.readText(i * size, 256),
    );
  }

  /**
   * Compiles a compute shader.
   *
   * @throws Error when the driver refuses it
   */
  compile(words: Uint32Array<ArrayBuffer>): CompiledKernel {
    const { entryPoint, bindings } = readInterface(words);
    const entries = new CStruct(24 * bindings.length);
    bindings.forEach(({ binding, isUniform }, i) => {
      const [uniformBufferDynamic, storageBuffer, compute] = [8, 7, 0x20];
      entries.u32(24 * i, binding).u32(24 * i + 4, isUniform ? uniformBufferDynamic : storageBuffer)
        .u32(24 * i + 8, 1).u32(24 * i + 12, compute);
    });
    const setLayout = this.#create(
      "vkCreateDescriptorSetLayout",
      new CStruct(32, 32).u32(20, bindings.length).pointer(24, entries),
    );
    const constants = new CStruct(12).u32(0, 0x20).u32(8, 64);
    const layout = this.#create(
      "vkCreatePipelineLayout",
      new CStruct(48, 30).u32(20, 1).pointer(24, new CStruct(8).u64(0, setLayout)).u32(32, 1)
        .pointer(40, constants),
    );
    const code = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    const shader = this.#create(
      "vkCreateShaderModule",
      new CStruct(40, 16).u64(24, BigInt(code.byteLength)).pointer(32, code),
    );
    const [captureStatistics, captureRepresentations] = [0x40, 0x80];
    const description = new CStruct(96, 29).u32(16, captureStatistics | captureRepresentations)
      .u32(24, 18).u32(24 + 20, 0x20).u64(24 + 24, shader).text(24 + 32, entryPoint)
      .u64(72, layout);
    const pipeline = new CStruct(8);
    const place = [this.#device, 0n, 1] as const;
    this.#check("vkCreateComputePipelines", ...place, description, null, pipeline);
    const handle = pipeline.readU64(0);
    try {
      return {
        subgroupSize: this.#subgroupSize(handle),
        statistics: this.#statistics(handle),
        assembly: this.#assembly(handle),
      };
    } finally {
      this.#call("vkDestroyPipeline", this.#device, handle, null);
      this.#call("vkDestroyShaderModule", this.#device, shader, null);
      this.#call("vkDestroyPipelineLayout", this.#device, layout, null);
      this.#call("vkDestroyDescriptorSetLayout", this.#device, setLayout, null);
    }
  }

  #subgroupSize(pipeline: bigint): number {
    const info = new CStruct(24, 1000269001).u64(16, pipeline);
    const { structs } = this.#list("vkGetPipelineExecutablePropertiesKHR", info, 536, 1000269002);
    return structs.readU32(532);
  }

  #statistics(pipeline: bigint): Map<string, number> {
    const info = new CStruct(32, 1000269003).u64(16, pipeline);
    const name = "vkGetPipelineExecutableStatisticsKHR";
    const { structs, starts } = this.#list(name, info, 544, 1000269004);
    return new Map(
      starts.map((at) => [structs.readText(at + 16, 256), Number(structs.readU64(at + 536))]),
    );
  }

  #assembly(pipeline: bigint): string {
    const info = new CStruct(32, 1000269003).u64(16, pipeline);
    const name = "vkGetPipelineExecutableInternalRepresentationsKHR";
    // The first call says how long the texts are, the second writes them.
    const { structs, starts, count } = this.#list(name, info, 552, 1000269005);
    const texts = starts.map((at) => new Uint8Array(Number(structs.readU64(at + 536))));
    starts.forEach((at, i) => structs.pointer(at + 544, texts[i]));
    this.#check(name, this.#device, info, count, structs);
    const place = starts.findIndex((at) => /assembly/i.test(structs.readText(at + 16, 256)));
    if (place < 0) throw new Error("the driver shows no machine code");
    return new TextDecoder().decode(texts[place]).replace(/\0+$/, "");
  }

  /** Calls one of the functions that count their structs first and then fill them. */
  #list(name: string, info: CStruct, size: number, type: number) {
    const count = new CStruct(4);
    this.#check(name, this.#device, info, count, null);
    const starts = Array.from({ length: count.readU32(0) }, (_, i) => i * size);
    const structs = new CStruct(size * starts.length);
    for (const at of starts) structs.u32(at, type);
    this.#check(name, this.#device, info, count, structs);
    return { structs, starts, count };
  }

  #create(name: string, description: CStruct): bigint {
    const handle = new CStruct(8);
    this.#check(name, this.#device, description, null, handle);
    return handle.readU64(0);
  }

  #check(name: string, ...values: Value[]): void {
    const result = this.#call(name, ...values);
    if (result !== 0) throw new Error(`${name} gave ${result}`);
  }

  #call(name: string, ...values: Value[]): number {
    const address = this.addressOf(this.#instance, new TextEncoder().encode(`${name}\0`));
    if (address === 0n) throw new Error(`the driver has no ${name}`);
    // All values are pointers, handles or whole numbers, which the calling convention passes alike.
    const call = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(address) as never, {
      parameters: values.map(() => "u64" as const),
      result: "i32",
    });
    return call.call(
      ...values.map((value) => value instanceof CStruct ? value.address : BigInt(value ?? 0)),
    );
  }
}
