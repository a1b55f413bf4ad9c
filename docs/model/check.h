/* What both models have in common. */

/* PATIENT: a time-out comes only when nothing else can happen. Else it may come at any time. */
#ifdef PATIENT
#define LATE timeout
#else
#define LATE true
#endif

/* REACHED prints the name of an end once, so that no property holds because nothing happens. */
#define REACHED(end) c_code { static char known; if (!known) { known = 1; printf("reached " #end "\n"); } };

/* CHECK is an assertion of a property. With PROPERTY in the environment no other one counts. */
c_decl {
\#include <stdlib.h>
\#include <string.h>
static int counts(const char *property) {
	const char *only = getenv("PROPERTY");
	if (only && strcmp(only, property))
		return 0;
	printf("violated %s\n", property);
	return 1;
}
};
hidden byte violated;
#define CHECK(property, condition) \
	if \
	:: condition \
	:: else -> c_code { violated = counts(#property); }; assert(!violated) \
	fi
