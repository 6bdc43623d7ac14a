# The fixture and the assertions that the unit tests share.
add_library(np_test_host STATIC unit/check.c unit/host.c unit/properties.c unit/properties_service.c)
target_include_directories(np_test_host PUBLIC unit)
target_link_libraries(np_test_host PRIVATE np_build PUBLIC numarun_objects PkgConfig::CMOCKA)

# One test program a module.
foreach(module allowed bitmap cpulist device_spec error hwloc locality lower malformed rank sysroot
		topology)
	np_test(${module} np_test_host numaprobe_objects)
endforeach()
foreach(module apply cause cores death environment exec irq move numa_maps pages pinned plan policy
		preflight refused roles sched service set shared_policy slots slots_shared verify
		words)
	np_test(${module} np_test_host numarun_objects)
endforeach()

# What must hold on every host: ours and, where they are at hand, other people's.
np_test(hosts np_test_host numarun_objects)
foreach(test test_hosts test_preflight test_roles test_service)
	target_compile_definitions(${test} PRIVATE NUMAKIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endforeach()
# Orders that the kernel refuses, which no plain file does.
target_link_options(test_irq PRIVATE -Wl,--wrap=write)
np_test(topologies np_test_host numarun_objects)

np_test(export np_test_host numarun_objects)
target_sources(test_export PRIVATE ${PROJECT_SOURCE_DIR}/launcher/export.c)

# numacount: unit/counters/test_NAME.c becomes ctest "unit.counters.NAME".
foreach(name accumulate charts counters counting cpu encode format libpfm4 listen metrics numastat
		peaks perf pmu refusal resctrl rows session sources tables tally)
	add_executable(test_counters_${name} unit/counters/test_${name}.c)
	target_include_directories(test_counters_${name} PRIVATE unit)
	target_compile_definitions(test_counters_${name} PRIVATE
		NUMAKIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
	target_link_libraries(test_counters_${name} PRIVATE np_build np_test_host nc_tool
		PkgConfig::CMOCKA)
	add_test(NAME unit.counters.${name} COMMAND test_counters_${name})
	np_set_up_test(unit.counters.${name} unit 60)
endforeach()
# Files that vanish while they are open, which no plain file does.
foreach(name resctrl numastat)
	target_link_options(test_counters_${name} PRIVATE -Wl,--wrap=pread)
endforeach()
# Of numacount's own files, not the library's.
foreach(name metrics listen)
	target_sources(test_counters_${name} PRIVATE ${PROJECT_SOURCE_DIR}/counters/${name}.c)
endforeach()
# What the kernel says of counters that no software event can be made to say.
target_link_options(test_counters_perf PRIVATE
	-Wl,--wrap=nc_perf_sys_open,--wrap=nc_perf_sys_read,--wrap=nc_perf_sys_look)
# numarun's --counters.
target_sources(test_counters_counting PRIVATE ${PROJECT_SOURCE_DIR}/launcher/counting.c
	${PROJECT_SOURCE_DIR}/launcher/tell.c)

# Statistics: unit/stat/test_NAME.c becomes ctest "unit.stat.NAME".
foreach(name distribution location pair rank resample rng sort time)
	add_executable(test_stat_${name} unit/stat/test_${name}.c)
	target_include_directories(test_stat_${name} PRIVATE unit)
	target_link_libraries(test_stat_${name} PRIVATE np_build np_test_host np_stat PkgConfig::CMOCKA)
	add_test(NAME unit.stat.${name} COMMAND test_stat_${name})
	np_set_up_test(unit.stat.${name} unit 60)
endforeach()

# numalat: unit/client/test_NAME.c becomes ctest "unit.client.NAME".
foreach(name analysis analysis_coverage arms exchange figures histogram load_keys load_schedule
		noise order report run_directory samples target trace trace_check trace_csv
		trace_damage verdict wire)
	add_executable(test_client_${name} unit/client/test_${name}.c)
	target_include_directories(test_client_${name} PRIVATE unit)
	target_link_libraries(test_client_${name} PRIVATE np_build np_test_host nl_client
		PkgConfig::CMOCKA)
	add_test(NAME unit.client.${name} COMMAND test_client_${name})
	np_set_up_test(unit.client.${name} unit 60)
endforeach()
# Millions of rows, which sanitizers make slow.
set_tests_properties(unit.client.analysis_coverage unit.client.trace_csv PROPERTIES TIMEOUT 300)
# The figures of a published run, to be reported.
foreach(name figures report verdict)
	target_sources(test_client_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/client/published.c)
	target_compile_definitions(test_client_${name} PRIVATE
		NUMAKIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endforeach()

# numastore: unit/server/test_NAME.c becomes ctest "unit.server.NAME".
foreach(name arena callers date epoch fifo heads http http_chunk http_parse http_range index
		listen memcache_auth memcache_parse memory_plan metrics output pool promote
		poll promote_plan session steer store store_room store_threads tail tail_io tails timers
		two_servers units)
	add_executable(test_server_${name} unit/server/test_${name}.c)
	target_include_directories(test_server_${name} PRIVATE unit ${PROJECT_SOURCE_DIR}/server)
	target_link_libraries(test_server_${name} PRIVATE np_build np_test_host numastore_objects
		PkgConfig::CMOCKA)
	add_test(NAME unit.server.${name} COMMAND test_server_${name})
	np_set_up_test(unit.server.${name} unit 60)
endforeach()
# Megabytes through checksums, which sanitizers make slow.
set_tests_properties(unit.server.tails PROPERTIES TIMEOUT 300)
# Reads and writes that fail, or do less than they were told.
target_link_options(test_server_callers PRIVATE -Wl,--wrap=pread,--wrap=pwrite)
target_link_options(test_server_tail_io PRIVATE -Wl,--wrap=pread,--wrap=pwrite,--wrap=fallocate)
