# What is known of the servers, and the polling of sources.
set(servers daemon/derive.c daemon/servers.c daemon/servers_get.c daemon/servers_put.c daemon/servers_operator.c daemon/statefile.c
	core/err.c core/log.c core/text.c)
set(poller daemon/poller.c daemon/poller_callbacks.c daemon/poller_round.c daemon/poller_schedule.c
	daemon/poller_source.c daemon/poller_thread.c daemon/config.c daemon/config_expand.c daemon/config_health.c
	daemon/config_options.c daemon/config_profile.c daemon/profiles.c daemon/config_report.c daemon/config_servers.c daemon/config_services.c daemon/config_smooth.c
	daemon/config_sources.c daemon/config_walk.c daemon/config_yaml.c core/plugin.c core/elf.c
	core/option.c core/words.c ${servers})
set(poller_libs source_yaml source PkgConfig::jansson)
unit_test(servers SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_scan SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_put SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(servers_operator SOURCES ${servers} LIBS PkgConfig::jansson)
unit_test(poller SOURCES ${poller} LIBS ${poller_libs})
unit_test(poller_change SOURCES ${poller} LIBS ${poller_libs})
unit_test(poller_schedule SOURCES ${poller} LIBS ${poller_libs})
stress_test(poller SOURCES ${poller} LIBS ${poller_libs})
