# The programs as a user runs them: their options, output, errors and exit statuses.
foreach(name options numaprobe numarun supervise roles exclusive schema man_examples)
	np_bats(cli ${name})
endforeach()
