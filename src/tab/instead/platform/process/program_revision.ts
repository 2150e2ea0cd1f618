declare const TANGO_REVISION: string | null;

/** The commit that the page was made from. */
export const programRevision = (): string | null => TANGO_REVISION;
