// The lane's own vectors of the slab that begins with term $AT, on their way to workgroup memory.
//#for n 0 VA
//#if !HALVES
valueA$n = load_a(sourceA$n + min($AT / 4u + vectorA$n, lastOfA));
//#else
valueA$n = a[sourceA$n + $AT / 8u];
//#if PAIR
lowA$n = a[sourceA$n + params.strideA / 16u + $AT / 8u];
//#endif
//#endif
//#endfor
//#for n 0 VB
//#if LAYOUT == 0
valueB$n = load_b(sourceB$n + min($AT / 4u + termB$n / 4u, strideB - 1u));
//#else
valueB$n = load_b(min($AT + termB$n, params.depth - 1u) * strideB + sourceB$n);
//#endif
//#endfor
