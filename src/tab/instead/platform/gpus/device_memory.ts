/** A browser does not tell a GPU's memory. */
export const deviceMemory = (): null => null;
export const freeDeviceMemory = (): null => null;
