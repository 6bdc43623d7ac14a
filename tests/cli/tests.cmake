# The programs as a user runs them: their options, output, errors and exit statuses.
foreach(name options numaprobe numarun supervise roles exclusive schema man_examples documents
		numacount_explain numacount_list numacount_record numacount_serve numacount_stat
		numalat_analyze numalat_convert numalat_load numalat_noise numalat_populate
		numalat_run numalat_show main_job numastore numastore_promotion)
	np_bats(cli ${name})
endforeach()
# The documents of all captured hosts, which sanitizers make slow.
set_tests_properties(cli.schema PROPERTIES TIMEOUT 600)
