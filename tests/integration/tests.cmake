find_program(NUMACTL numactl)
add_test(NAME integration.numactl_table
	COMMAND sh -c "test -x '${NUMACTL}' || { echo 'skipped: numactl is not installed'; exit 77; }; exec sh '${CMAKE_CURRENT_LIST_DIR}/numactl_table.sh' '${NUMACTL}' \"$NUMARUN\" \"$WHERE\"")
np_set_up_test(integration.numactl_table integration 120)
