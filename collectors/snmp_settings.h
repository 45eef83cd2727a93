/* snmp_settings.h - the options of the SNMP collector, checked: the source, who may read, limits.
 */
#ifndef CR_COLLECTORS_SNMP_SETTINGS_H
#define CR_COLLECTORS_SNMP_SETTINGS_H

#include <callrouter/plugin.h>

#include "secret.h"
#include "snmp_agent.h"

extern const struct cr_option snmp_options[];

/** What the settings point into. Zeroed at first. */
struct snmp_config {
	struct source *source;
	struct secret community;
	struct snmp_user user;
};

/**
 * Take the options: *settings points into config, which lives as long. Reads the files with
 * secrets; passwords do not outlive it. Returns 0, or < 0 with a line in in->err. [own]
 */
int snmp_config_read(struct snmp_config *config, const struct cr_open *in,
		     struct snmp_settings *settings);

/** Free the source and wipe the secrets. [own] */
void snmp_config_fini(struct snmp_config *config);

/** Write one more line for the operator, which begins with the option's name; returns code. [own]
 */
int snmp_config_refuse(const struct cr_open *in, int code, const char *fmt, ...) CR_PRINTF(3, 4);

#endif
