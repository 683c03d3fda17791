/* The region of interest for languages that cannot include the header. Link it into the program. */
#include "faultwatch_region.h"

void faultwatch_begin(void);
void faultwatch_end(void);

void faultwatch_begin(void) { faultwatch_region_begin(); }
void faultwatch_end(void) { faultwatch_region_end(); }
