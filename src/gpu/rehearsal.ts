/**
 * A device without memory or processor: every call of WebGPU that the engine makes is accepted and does
 * nothing. Work recorded on it takes the same buffers, in the same order, as it would on the device whose
 * limits it has, so their sum is known before the first of them is allocated.
 */

const nothing = () => {};

/** @param limits of the device that is stood in for, as far as the engine asks for them */
export function rehearsalDevice(limits: Partial<GPUSupportedLimits>): GPUDevice {
  const object = (descriptor?: { readonly label?: string }) => ({ label: descriptor?.label ?? "" });
  const pass = {
    setPipeline: nothing,
    setBindGroup: nothing,
    dispatchWorkgroups: nothing,
    end: nothing,
  };
  const encoder = {
    beginComputePass: () => pass,
    copyBufferToBuffer: nothing,
    clearBuffer: nothing,
    finish: object,
  };
  const device = {
    limits,
    features: new Set<string>(),
    lost: new Promise<never>(nothing),
    addEventListener: nothing,
    destroy: nothing,
    pushErrorScope: nothing,
    popErrorScope: () => Promise.resolve(null),
    createBuffer: ({ label, size }: GPUBufferDescriptor) => ({ label, size, destroy: nothing }),
    createShaderModule: object,
    createBindGroupLayout: object,
    createPipelineLayout: object,
    createComputePipeline: object,
    createBindGroup: object,
    createCommandEncoder: () => encoder,
    queue: { writeBuffer: nothing, submit: nothing },
  };
  return device as unknown as GPUDevice;
}

/** The limits of a device by which the engine takes its memory and chooses its kernels. */
export function limitsThatShow(limits: GPUSupportedLimits): Partial<GPUSupportedLimits> {
  return {
    maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
    maxBufferSize: limits.maxBufferSize,
    minUniformBufferOffsetAlignment: limits.minUniformBufferOffsetAlignment,
    maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
    maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
  };
}

/** Reads zeros of the right length. */
export const rehearsalReadback = {
  immediate: true,
  record(_encoder: GPUCommandEncoder, ranges: readonly { readonly bytes: number }[]) {
    return () => Promise.resolve(ranges.map(({ bytes }) => new ArrayBuffer(bytes)));
  },
};
