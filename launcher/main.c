/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun: runs programs on the right CPUs with the right memory, after the kernel has confirmed
 * both. Read, plan, apply, verify, exec; or, with a parent that stays, watch.
 */
#include "args.h"
#include "numactl.h"
#include "pid.h"
#include "request.h"
#include "reserve.h"
#include "run.h"
#include "service_run.h"
#include "show.h"
#include "steer.h"
#include "tell.h"

#include "../probe/base/cli.h"

static int run(const struct nr_args *args, const struct np_topology *topology)
{
	if (args->hardware) {
		nr_show_hardware(topology, args->cpu_ranges, stdout);
		return nr_written(0);
	}
	return args->pid ? nr_run_pid(args, topology) : nr_run_program(args, topology);
}

static int load_and_run(struct nr_args *args)
{
	struct np_topology *topology = NULL;
	int status;

	if (args->slots)
		return nr_reserve_list(args);
	if (args->irq_restore)
		return nr_steer_restore_left(args);
	if (args->roles_file)
		return nr_run_service(args);
	if (nr_args_load(args, &topology, &args->err) < 0)
		return nr_fail(&args->err, NR_EXIT_FAILED);
	status = run(args, topology);
	np_topology_free(topology);
	return status;
}

int main(int argc, char **argv)
{
	struct nr_args args;
	int status;

	np_cli_fill_standard_files();
	if (nr_is_numactl(argv[0]))
		return nr_numactl_main(argc, argv, load_and_run);
	status = nr_args_parse(argc, argv, &args) < 0 ? nr_fail(&args.err, NR_EXIT_FAILED)
	                                              : load_and_run(&args);
	nr_args_release(&args);
	return status;
}
