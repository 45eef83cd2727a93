/* jolokia.h - the profile "jolokia": the heap as the Jolokia agent reads it from JMX. */
#ifndef CR_COLLECTORS_JOLOKIA_H
#define CR_COLLECTORS_JOLOKIA_H

#include "http_profile.h"

extern const struct http_profile jolokia_profile;

#endif
