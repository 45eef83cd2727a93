/*
 * jvm_subagent.c - an AgentX subagent that serves the heap of the JVM MIB as Counter64, as an
 * adaptor beside a JVM would:
 *
 *	jvm_subagent unix:/path/agentx /path/values
 *
 * values holds "USED COMMITTED MAX" and is read anew for every request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include <net-snmp/agent/net-snmp-agent-includes.h>

static const char *values;

/* The index-th number of the file, or 0. */
static unsigned long long read_value(unsigned int index)
{
	unsigned long long value[3] = { 0 };
	FILE *file = fopen(values, "r");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu %llu", &value[0], &value[1], &value[2]) != 3)
		value[index] = 0;
	fclose(file);
	return value[index];
}

static int answer(netsnmp_mib_handler *handler, netsnmp_handler_registration *registration,
		  netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	/* The last but one number: 11, 12, 13. */
	const oid *name = registration->rootoid;
	const unsigned long long value =
		read_value((unsigned int)(name[registration->rootoid_len - 2] - 11));
	const struct counter64 counter = { .high = (u_long)(value >> 32),
					   .low = (u_long)(value & 0xffffffff) };

	(void)handler;
	if (info->mode == MODE_GET)
		snmp_set_var_typed_value(requests->requestvb, ASN_COUNTER64, &counter,
					 sizeof counter);
	return SNMP_ERR_NOERROR;
}

static void serve(const char *label, oid number)
{
	const oid name[] = { 1, 3, 6, 1, 4, 1, 42, 2, 145, 3, 163, 1, 1, 2, number, 0 };

	netsnmp_register_read_only_instance(netsnmp_create_handler_registration(
		label, answer, name, OID_LENGTH(name), HANDLER_CAN_RONLY));
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: jvm_subagent unix:SOCKET VALUES\n");
		return 2;
	}
	values = argv[2];
	snmp_disable_stderrlog();
	netsnmp_ds_set_boolean(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_ROLE, 1);
	netsnmp_ds_set_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET, argv[1]);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_set_mib_directory("");
	init_agent("jvm_subagent");
	serve("used", 11);
	serve("committed", 12);
	serve("max", 13);
	init_snmp("jvm_subagent");
	for (;;)
		agent_check_and_process(1);
}
