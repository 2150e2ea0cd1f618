import type { Model } from "../../src/model/decoder/model.ts";
import { assertClose, type Tolerance } from "../kernels/harness.ts";

/**
 * Checks gradients against finite differences of the loss that they are of, of each parameter at its steepest element:
 * there, the loss's own rounding matters least. The weights are as before afterwards.
 *
 * @param lossNow with the weights that the model has
 * @param what in the message of a failure
 */
export async function assertSlopes(
  model: Model,
  gradients: Readonly<Record<string, Float32Array>>,
  lossNow: () => Promise<number>,
  tolerance: Tolerance,
  what = "gradient",
): Promise<void> {
  const weights = await model.parameters.read();
  for (const [name, gradient] of Object.entries(gradients)) {
    const place = gradient.reduce(
      (best, slope, i) => Math.abs(slope) > Math.abs(gradient[best]) ? i : best,
      0,
    );
    const step = 2 ** -8;
    const moved = async (by: number) => {
      const data = weights[name].slice();
      data[place] += by;
      model.parameters.set({ ...weights, [name]: data });
      return await lossNow();
    };
    // Five points: the error is of fourth order in the step.
    const near = await moved(step) - await moved(-step);
    const far = await moved(2 * step) - await moved(-2 * step);
    const why = `${name}, ${what}: ${tolerance.why}`;
    assertClose([(8 * near - far) / (12 * step)], [gradient[place]], { ...tolerance, why });
  }
  model.parameters.set(weights);
}
