/** Names that fetching keeps for itself in a folder. */

/** What is known of the files in the folder. Hidden, so that it is not taken for data. */
export const MANIFEST_NAME = ".pulled.json";

/** Ends the name of a file that is not complete. */
export const PART_ENDING = ".part";
