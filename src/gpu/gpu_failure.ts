import { Failure } from "../base/failure.ts";

/** The GPU gave out under work that was right. What was sent since the last read is lost. */
export class GpuFailure extends Failure {
  override name = "GpuFailure";
}

/** The device is gone: reset by its driver, unplugged, or destroyed. Nothing more runs on this `Gpu`. */
export class DeviceLost extends GpuFailure {
  override name = "DeviceLost";
}

/** The driver had no memory left for a buffer. */
export class OutOfMemory extends GpuFailure {
  override name = "OutOfMemory";
}
