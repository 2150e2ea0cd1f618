/** A browser does not tell its drivers. */
export const driverOf = (): null => null;
