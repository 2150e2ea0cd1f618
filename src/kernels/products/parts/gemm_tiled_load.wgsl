// The lane's own vectors of the slab that begins with term $AT. A lane that has none to put may load any.
// Terms are added up as where they are compared with the depth, so that compilers see one sum.
//#if LAYOUT == 2
//#for n 0 LY*RM*TK/4/(LX*LY)
valueA$n = load_a(min($AT + (termA + $(n*LX*LY/(LY*RM/4))u), lastDepth) * strideA + placeA);
//#endfor
//#else
let place = min(params.firstA / 4u + $AT / 4u + sliceA, strideA - 1u);
//#for n 0 LY*RM*TK/4/(LX*LY)
valueA$n = load_a(startA$n + place);
//#endfor
//#endif
//#if LAYOUT == 0
let placeOfB = min($AT / 4u + sliceB, strideB - 1u);
//#for n 0 LX*RN*TK/4/(LX*LY)
valueB$n = load_b(startB$n + placeOfB);
//#endfor
//#else
//#for n 0 LX*RN*TK/4/(LX*LY)
valueB$n = load_b(min($AT + (termB + $(n*LX*LY/(LX*RN/4))u), lastDepth) * strideB + placeB);
//#endfor
//#endif
