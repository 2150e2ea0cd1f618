// The lane's vector $N of B's slab that begins with term $AT.
//#if LAYOUT == 0
valueB$N = load_b(startB$N + min($AT / 4u + sliceB, strideB - 1u));
//#else
valueB$N = load_b(min($AT + (termB + $(N*LX*LY/(LX*RN/4))u), lastDepth) * strideB + placeB);
//#endif
