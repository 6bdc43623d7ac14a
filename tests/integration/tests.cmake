find_program(NUMACTL numactl)
add_test(NAME integration.numactl_table
	COMMAND sh -c "test -x '${NUMACTL}' || { echo 'skipped: numactl is not installed'; exit 77; }; exec sh '${CMAKE_CURRENT_LIST_DIR}/numactl_table.sh' '${NUMACTL}' \"$NUMARUN\" \"$WHERE\"")
np_set_up_test(integration.numactl_table integration 400)

add_test(NAME integration.numactl_name
	COMMAND sh -c "test -x '${NUMACTL}' || { echo 'skipped: numactl is not installed'; exit 77; }; exec sh '${CMAKE_CURRENT_LIST_DIR}/numactl_name.sh' '${NUMACTL}' \"$NUMARUN\" \"$WHERE\" '${CMAKE_CURRENT_LIST_DIR}/numactl_table.sh'")
np_set_up_test(integration.numactl_name integration 600)

add_test(NAME integration.install
	COMMAND ${CMAKE_CURRENT_LIST_DIR}/install.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} "${CMAKE_C_FLAGS}")
np_set_up_test(integration.install integration 300)

add_executable(deny_mempolicy ${CMAKE_CURRENT_LIST_DIR}/deny_mempolicy.c)
target_link_libraries(deny_mempolicy PRIVATE np_build)
add_test(NAME integration.seccomp
	COMMAND ${CMAKE_CURRENT_LIST_DIR}/seccomp.sh $<TARGET_FILE:deny_mempolicy>)
np_set_up_test(integration.seccomp integration 60)

add_executable(deny_perf ${CMAKE_CURRENT_LIST_DIR}/deny_perf.c)
target_link_libraries(deny_perf PRIVATE np_build)
add_test(NAME integration.seccomp_perf
	COMMAND ${CMAKE_CURRENT_LIST_DIR}/seccomp_perf.sh $<TARGET_FILE:deny_perf>)
np_set_up_test(integration.seccomp_perf integration 60)
# It takes a minute of scrapes.
add_test(NAME integration.prometheus COMMAND ${CMAKE_CURRENT_LIST_DIR}/prometheus.sh)
np_set_up_test(integration.prometheus integration 150)

add_executable(stat_probe ${CMAKE_CURRENT_LIST_DIR}/stat_probe.c)
target_link_libraries(stat_probe PRIVATE np_build np_stat)
add_test(NAME integration.scipy
	COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/against_scipy.py $<TARGET_FILE:stat_probe>)
np_set_up_test(integration.scipy integration 300)

# Ten seconds of it; minutes by hand.
add_test(NAME integration.soak COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/soak.py)
np_set_up_test(integration.soak integration 150)

# Objects longer than their head.
foreach(case sizes_uring sizes_threads concurrent killed refused full damaged write_error vanished slow stalled)
	add_test(NAME integration.tails.${case} COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/tails.py
		$<TARGET_FILE:numastore_program> ${case} ${CMAKE_C_COMPILER})
	np_set_up_test(integration.tails.${case} integration 400)
endforeach()

# HTTP as users try it, and as nobody should; peers that misbehave.
foreach(name drain http_curl http_race http_refusals peers)
	add_test(NAME integration.${name} COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/${name}.py)
	np_set_up_test(integration.${name} integration 400)
endforeach()

# numastore over memcache: other people's clients, what is no request, and memcached beside it. Debian's packages for
# Python are for its own one.
set(np_debian_python /usr/bin/python3)
if(NOT EXISTS ${np_debian_python})
	set(np_debian_python python3)
endif()
foreach(case capable tools pymemcache)
	add_test(NAME integration.memcache_clients.${case}
		COMMAND ${np_debian_python} ${CMAKE_CURRENT_LIST_DIR}/memcache_clients.py ${case})
	np_set_up_test(integration.memcache_clients.${case} integration 300)
endforeach()
foreach(case table numbers quiet meta limits memory auth peers)
	add_test(NAME integration.memcache_refusals.${case}
		COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/memcache_refusals.py ${case})
	np_set_up_test(integration.memcache_refusals.${case} integration 300)
endforeach()
add_test(NAME integration.memcache_differential
	COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/memcache_differential.py --seed 1,2,3 --rounds 40)
np_set_up_test(integration.memcache_differential integration 300)
add_test(NAME integration.memcache_differential.large
	COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/memcache_differential.py --large --seed 4 --rounds 10)
np_set_up_test(integration.memcache_differential.large integration 300)
