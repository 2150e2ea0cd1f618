/** Names that fetching keeps for itself in a folder. */

/** Name of a folder's manifest. Hidden, so that it is not taken for data. */
export const MANIFEST_NAME = ".pulled.json";

/** Ends the name of a file that is not complete. */
export const PART_ENDING = ".part";
