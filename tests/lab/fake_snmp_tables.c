/* fake_snmp_tables.c - texts, and the objects of well known agents, for fake_snmp.c. */
#include "fake_snmp.h"

#include <stdio.h>
#include <string.h>

void fake_snmp_text(struct fake_snmp *fake, const char *oid, const char *text)
{
	fake_snmp_bytes(fake, oid, text, strlen(text));
}

void fake_snmp_weblogic(struct fake_snmp *fake, unsigned int row, const char *parent, int64_t free,
			int64_t size, int percent)
{
	char oid[96];

	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.20.%u", row);
	fake_snmp_text(fake, oid, parent);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.25.%u", row);
	fake_snmp_number(fake, oid, free < 0 ? FAKE_INTEGER : FAKE_COUNTER64, free);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.30.%u", row);
	fake_snmp_number(fake, oid, size < 0 ? FAKE_INTEGER : FAKE_COUNTER64, size);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.52.%u", row);
	if (percent >= 0)
		fake_snmp_number(fake, oid, FAKE_INTEGER, percent);
}

void fake_snmp_jvm(struct fake_snmp *fake, int64_t used, int64_t committed, int64_t max)
{
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.11.0", FAKE_COUNTER64, used);
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.12.0", FAKE_COUNTER64, committed);
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.13.0", FAKE_COUNTER64, max);
}
