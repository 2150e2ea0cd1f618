// The row of the walk that the lane's load $G is of, from `block` on: each lane loads rows of its own, or all the same (UNIFORM).
//#if UNIFORM
let walked$G = block + $(G)u;
//#else
let walked$G = block + $(G*LANES)u + lane;
//#endif
