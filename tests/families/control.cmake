# The control socket, the documents, and what callrouterctl prints.
set(words core/err.c core/log.c core/text.c core/words.c)
set(control daemon/control.c daemon/control_ask.c daemon/control_socket.c daemon/document.c ${words})
unit_test(control SOURCES ${control} tests/control_rig.c
	LIBS PkgConfig::libevent_core PkgConfig::jansson)
unit_test(control_socket SOURCES ${control} tests/control_rig.c
	LIBS PkgConfig::libevent_core PkgConfig::jansson)

set(report daemon/smooth.c daemon/document.c daemon/report.c daemon/report_failing.c
	daemon/report_health.c daemon/report_plugins.c daemon/report_status.c daemon/warnings.c
	daemon/unsteady.c ${servers_part}
	${counters_part} core/health.c core/image.c ${words})
unit_test(report SOURCES ${report} LIBS PkgConfig::jansson m)
unit_test(report_lists SOURCES ${report} LIBS PkgConfig::jansson m)
unit_test(warnings SOURCES ${report} LIBS PkgConfig::jansson m)
target_compile_definitions(test_warnings PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")

set(ctl daemon/ctl_common.c daemon/ctl_health.c daemon/ctl_status.c daemon/ctl_table.c daemon/ctl_watch.c)
unit_test(ctl SOURCES ${ctl} daemon/control_ask.c ${words} LIBS PkgConfig::jansson)
target_compile_definitions(test_ctl PRIVATE DOCS_DIR="${CMAKE_SOURCE_DIR}/docs")
unit_test(ctl_commands SOURCES ${ctl} daemon/ctl_check.c daemon/ctl_line.c daemon/ctl_plugins.c
	daemon/ctl_profile.c daemon/ctl_server.c daemon/ctl_source.c daemon/profiles.c daemon/ctl_servers.c
	daemon/ctl_simple.c ${control}
	LIBS PkgConfig::libevent_core PkgConfig::jansson)
