/** A workgroup grid: [x, y, z], missing entries are 1. */
export type Grid = readonly [number, number?, number?];

/** No dimension of a grid may exceed this. */
const mostGroups = 65535;

/** The grid for `groups` workgroups in a row, folded into two dimensions where they are too many for one. */
export function gridOf(groups: number): Grid {
  if (groups <= mostGroups) return [groups];
  const y = Math.ceil(groups / mostGroups);
  return [Math.ceil(groups / y), y];
}

/** @throws Error that names the kernel when a dimension is too long */
export function expectGrid(label: string, [x, y = 1, z = 1]: Grid): void {
  if (Math.max(x, y, z) <= mostGroups) return;
  throw new Error(
    `${label}: a grid of [${[
      x,
      y,
      z,
    ]}] workgroups, at most ${mostGroups} each way are allowed; fold it with Gpu.grid`,
  );
}
