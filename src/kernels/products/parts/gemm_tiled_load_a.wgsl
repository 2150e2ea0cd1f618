// The lane's vector $N of A's slab that begins with term $AT. A lane that has none to put may load any.
//#if LAYOUT == 2
valueA$N = load_a(min($AT + (termA + $(N*LX*LY/(LY*RM/4))u), lastDepth) * strideA + placeA);
//#else
valueA$N = load_a(startA$N + min(params.firstA / 4u + ($AT / 4u + sliceA), strideA - 1u));
//#endif
