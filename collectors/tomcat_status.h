/* tomcat_status.h - the profile "tomcat-status": the status page of Tomcat's manager. */
#ifndef CR_COLLECTORS_TOMCAT_STATUS_H
#define CR_COLLECTORS_TOMCAT_STATUS_H

#include "http_profile.h"

extern const struct http_profile tomcat_status_profile;

#endif
