/** Numbers of a peer that it cannot have by rounding. */
export class PeerDisagrees extends Error {}
