/** A gated DeltaNet layer between its projections and its norm, in float64, token by token, and its gradients. */

import { type DeltaShape, deltaWidths } from "../../../src/kernels/delta/delta_shape.ts";

/** What a layer is given: rows [inputs | z | b | a], and its weights. */
export interface ReferenceLayer {
  readonly projected: Float32Array;
  readonly convolution: Float32Array;
  readonly decayLogs: Float32Array;
  readonly stepBiases: Float32Array;
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** What one sequence comes to, and the way back. */
function sequence(
  { projected, convolution, decayLogs, stepBiases }: ReferenceLayer,
  shape: DeltaShape,
  rows: readonly number[],
) {
  const { keyHeads, valueHeads, keyDim, valueDim, taps } = shape;
  const { inputs: M, projected: W } = deltaWidths(shape);
  const shared = valueHeads / keyHeads;
  const tokens = rows.map((row, position) => {
    const sums = Float64Array.from({ length: M }, (_, c) => {
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) {
        const source = rows[position - (taps - 1 - tap)];
        if (source !== undefined) sum += convolution[c * taps + tap] * projected[source * W + c];
      }
      return sum;
    });
    const convolved = sums.map((sum) => sum * sigmoid(sum));
    const heads = Array.from({ length: 2 * keyHeads }, (_, h) => {
      const x = convolved.slice(h * keyDim, (h + 1) * keyDim);
      const rstd = 1 / Math.sqrt(dot(x, x) + 1e-6);
      return { unit: x.map((one) => one * rstd), rstd };
    });
    const b = Array.from(
      { length: valueHeads },
      (_, h) => projected[(row + 1) * W - 2 * valueHeads + h],
    );
    const a = Array.from(
      { length: valueHeads },
      (_, h) => projected[(row + 1) * W - valueHeads + h],
    );
    return { row, sums, convolved, heads, b, a };
  });
  const states: Float64Array[][] = [];
  const made = Array.from({ length: valueHeads }, (_, h) => {
    let state = new Float64Array(keyDim * valueDim);
    states.push([state]);
    const keyHead = Math.floor(h / shared);
    return tokens.map(({ convolved, heads, a, b }) => {
      const q = heads[keyHead].unit.map((one) => one / Math.sqrt(keyDim));
      const k = heads[keyHeads + keyHead].unit;
      const first = 2 * keyHeads * keyDim + h * valueDim;
      const v = convolved.slice(first, first + valueDim);
      const decay = Math.exp(-Math.exp(decayLogs[h]) * softplus(a[h] + stepBiases[h]));
      const strength = sigmoid(b[h]);
      const decayed = state.map((one) => one * decay);
      const error = v.map((one, j) =>
        one - k.reduce((sum, x, i) => sum + x * decayed[i * valueDim + j], 0)
      );
      state = decayed.map((one, at) =>
        one + k[Math.floor(at / valueDim)] * strength * error[at % valueDim]
      );
      states[h].push(state);
      const output = v.map((_, j) => q.reduce((sum, x, i) => sum + x * state[i * valueDim + j], 0));
      return { q, k, decay, strength, error, output };
    });
  });
  return { tokens, made, states };
}

/**
 * @param sequences the rows of each, of which several may begin with the same
 * @param dOutput of each row [T, N]; that of a row counts once, however many sequences have it
 */
export function deltaReference(
  layer: ReferenceLayer,
  shape: DeltaShape,
  sequences: readonly (readonly number[])[],
  dOutput: Float32Array,
) {
  const { keyHeads, valueHeads, keyDim, valueDim, taps } = shape;
  const { inputs: M, values: N, projected: W } = deltaWidths(shape);
  const { projected, convolution, decayLogs, stepBiases } = layer;
  const T = projected.length / W;
  const found = {
    output: new Float64Array(T * N),
    dProjected: new Float64Array(T * W),
    dConvolution: new Float64Array(M * taps),
    dDecayLogs: new Float64Array(valueHeads),
    dStepBiases: new Float64Array(valueHeads),
  };
  const counted = new Set<number>();
  for (const rows of sequences) {
    const { tokens, made, states } = sequence(layer, shape, rows);
    const isNew = rows.map((row) => !counted.has(row));
    rows.forEach((row) => counted.add(row));
    const dHeads = tokens.map(({ heads }) =>
      heads.map(({ unit }) => new Float64Array(unit.length))
    );
    const dConvolved = tokens.map(() => new Float64Array(M));
    for (let h = 0; h < valueHeads; h++) {
      const keyHead = Math.floor(h / (valueHeads / keyHeads));
      let D = new Float64Array(keyDim * valueDim);
      for (let t = tokens.length - 1; t >= 0; t--) {
        const { row, a, b } = tokens[t];
        const { q, k, decay, strength, error, output } = made[h][t];
        const at = row * N + h * valueDim;
        found.output.set(output, at);
        const slope = Float64Array.from(
          { length: valueDim },
          (_, j) => isNew[t] ? dOutput[at + j] : 0,
        );
        const before = states[h][t], after = states[h][t + 1];
        const dq = dHeads[t][keyHead], dk = dHeads[t][keyHeads + keyHead];
        const dUpdate = new Float64Array(valueDim);
        for (let i = 0; i < keyDim; i++) {
          for (let j = 0; j < valueDim; j++) {
            const place = i * valueDim + j;
            dq[i] += after[place] * slope[j] / Math.sqrt(keyDim);
            D[place] += q[i] * slope[j];
            dUpdate[j] += D[place] * k[i];
            dk[i] += D[place] * strength * error[j];
          }
        }
        let dStrength = 0, dDecay = 0;
        for (let j = 0; j < valueDim; j++) {
          dStrength += dUpdate[j] * error[j];
          dConvolved[t][2 * keyHeads * keyDim + h * valueDim + j] += strength * dUpdate[j];
        }
        for (let i = 0; i < keyDim; i++) {
          for (let j = 0; j < valueDim; j++) {
            const place = i * valueDim + j;
            dk[i] -= strength * dUpdate[j] * decay * before[place];
            D[place] -= k[i] * strength * dUpdate[j];
            dDecay += D[place] * before[place];
          }
        }
        D = D.map((one) => one * decay);
        const step = a[h] + stepBiases[h];
        const rate = -Math.exp(decayLogs[h]);
        const dLog = dDecay * decay;
        found.dDecayLogs[h] += dLog * rate * softplus(step);
        found.dStepBiases[h] += dLog * rate * sigmoid(step);
        found.dProjected[(row + 1) * W - valueHeads + h] += dLog * rate * sigmoid(step);
        found.dProjected[(row + 1) * W - 2 * valueHeads + h] += dStrength * strength *
          (1 - sigmoid(b[h]));
      }
    }
    tokens.forEach(({ heads, sums }, t) => {
      heads.forEach(({ unit, rstd }, h) => {
        const d = dot(dHeads[t][h], unit);
        unit.forEach((one, i) =>
          dConvolved[t][h * keyDim + i] += rstd * (dHeads[t][h][i] - one * d)
        );
      });
      sums.forEach((sum, c) => {
        const share = sigmoid(sum);
        const d = dConvolved[t][c] * share * (1 + sum * (1 - share));
        for (let tap = 0; tap < taps; tap++) {
          const source = rows[t - (taps - 1 - tap)];
          if (source === undefined) continue;
          found.dConvolution[c * taps + tap] += d * projected[source * W + c];
          found.dProjected[source * W + c] += d * convolution[c * taps + tap];
        }
      });
    });
  }
  return found;
}
